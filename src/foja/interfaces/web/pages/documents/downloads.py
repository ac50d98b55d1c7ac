"""What a document can be downloaded as: its bundle, its certificate, its proofs in their own formats."""

from __future__ import annotations

import asyncio
import io
from uuid import UUID

from starlette.responses import Response

from foja.errors import UnknownEntity
from foja.interfaces.web.documents.evidence import certificate_page
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.interfaces.web.transfer.files import attachment


async def bundle(page: Page, document_id: str) -> Response:
    """Return the evidence there is now as one file."""
    documents = page.caller.app.documents
    document = await documents.open(document_id)
    data = await documents.bundle(document.id)
    return download(data, f"{document.name or document.id}.foja.zip", "application/zip")


async def certificate(page: Page, document_id: UUID) -> Response:
    """Return the report about the bundle as a PDF for people."""
    documents = page.caller.app.documents
    data, trust = await documents.bundle(document_id), await documents.trust(document_id)
    made = await asyncio.to_thread(certificate_page, io.BytesIO(data), trust, page.language)
    return download(made, f"certificate-{document_id}.pdf", "application/pdf")


async def trust(page: Page, document_id: UUID) -> Response:
    """Return the roots, keys and blocks that a reader of the bundle needs, to be sent separately."""
    found = await page.caller.app.documents.trust(document_id)
    return download("\n".join(found).encode(), f"trust-{document_id}.txt", "text/plain; charset=utf-8")


async def proof(page: Page, document_id: UUID, name: str) -> Response:
    """Return one proof in the format of its own tool."""
    found = (await page.caller.app.documents.proofs(document_id)).get(name)
    if found is None:
        raise UnknownEntity(f"document {document_id} has no proof {name!r}; its page lists them")
    return download(found, name, "application/octet-stream")


def download(data: bytes, name: str, media_type: str) -> Response:
    """Return a file to be saved under a name; a browser does not show it."""
    headers = {
        "Content-Disposition": attachment(name),
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(data, headers=headers, media_type=media_type)


ONE = "GET /documents/{document_id}"
PAGES = (
    PageRoute(f"{ONE}/bundle", bundle),
    PageRoute(f"{ONE}/certificate", certificate),
    PageRoute(f"{ONE}/trust", trust),
    PageRoute(f"{ONE}/proofs/{{name}}", proof),
)
