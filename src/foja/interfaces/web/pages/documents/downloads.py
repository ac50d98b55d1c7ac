"""What a document can be downloaded as: its bundle, its certificate, its proofs in their own formats."""

from __future__ import annotations

import asyncio
import io
from hashlib import sha256
from urllib.parse import quote
from uuid import UUID

from fastapi import Response

from foja.errors import UnknownEntity
from foja.interfaces.web.caller import Reader
from foja.interfaces.web.pages.frame.errors import page_router
from foja.interfaces.web.pages.frame.page import Requested
from foja.verification import verify

routes = page_router(prefix="/documents/{document_id}")


@routes.get("/bundle")
async def bundle(caller: Reader, document_id: str) -> Response:
    """Return the evidence there is now as one file."""
    documents = caller.app.documents
    document = await documents.open(document_id)
    data = await documents.bundle(document.id)
    return attachment(data, f"{document.name or document.id}.foja.zip", "application/zip")


@routes.get("/certificate")
async def certificate(caller: Reader, page: Requested, document_id: UUID) -> Response:
    """Return the report about the bundle as a PDF for people."""
    documents = caller.app.documents
    data, trust = await documents.bundle(document_id), await documents.trust(document_id)
    made = await asyncio.to_thread(_certificate, data, trust, page.language)
    return attachment(made, f"certificate-{document_id}.pdf", "application/pdf")


def _certificate(data: bytes, trust: list[str], language: str) -> bytes:
    from foja.interfaces.certificate.page import BundleInfo, certificate  # late: it is heavy and rarely used

    report = verify(io.BytesIO(data), trust)
    return certificate(report, BundleInfo(sha256(data).hexdigest(), len(data)), language=language)


@routes.get("/trust")
async def trust(caller: Reader, document_id: UUID) -> Response:
    """Return the roots, keys and blocks that a reader of the bundle needs, to be sent separately."""
    found = await caller.app.documents.trust(document_id)
    return attachment("\n".join(found).encode(), f"trust-{document_id}.txt", "text/plain; charset=utf-8")


@routes.get("/proofs/{name}")
async def proof(caller: Reader, document_id: UUID, name: str) -> Response:
    """Return one proof in the format of its own tool."""
    found = (await caller.app.documents.proofs(document_id)).get(name)
    if found is None:
        raise UnknownEntity(f"document {document_id} has no proof {name!r}; its page lists them")
    return attachment(found, name, "application/octet-stream")


def attachment(data: bytes, name: str, media_type: str) -> Response:
    """Return a file to be saved under a name; a browser does not show it."""
    plain = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in name)
    named = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    headers = {
        "Content-Disposition": named,
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(data, headers=headers, media_type=media_type)
