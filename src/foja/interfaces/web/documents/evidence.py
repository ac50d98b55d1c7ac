"""HTTP routes of the files of a document's evidence: bundle and certificate."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from typing import Annotated, BinaryIO, Literal, cast
from uuid import UUID

from fastapi import Query, Request, Response

from foja.interfaces.operations.records.documents import known, trust
from foja.interfaces.web.caller import Caller, Reader
from foja.interfaces.web.documents.address import ReadDocument
from foja.interfaces.web.reference.openapi import file_answer
from foja.interfaces.web.routers import api_router
from foja.interfaces.web.transfer.files import FileAnswer, attachment
from foja.interfaces.web.transfer.ranges import matches
from foja.pure.core.bundle.names import MEDIA_TYPE
from foja.verification import verify

routes = api_router("/v1/documents/{document_id}", "documents")
BUNDLE = MEDIA_TYPE.decode()
SMALL_BYTES = 1 << 20


@routes.get("/bundle", response_class=Response, responses=file_answer(BUNDLE, ranges=True))
async def bundle(
    caller: Reader,
    document: ReadDocument,
    request: Request,
    with_document: Annotated[bool, Query(description="false: without the bytes of the document")] = True,
) -> Response:
    """Download the evidence there is now as one file that `foja verify` checks.

    The bundle of a final document never changes: it has an ETag and can be fetched in ranges.
    """
    headers = {
        "Content-Disposition": attachment(f"{document}.asice"),
        "Cache-Control": "private, no-cache",
    }
    artifact = await caller.app.documents.artifact(document) if with_document else None
    etag = f'"{artifact}"' if artifact else None
    if matches(request.headers, etag):
        return Response(status_code=304, headers={**headers, "ETag": etag or ""})
    file = await _written(caller, document, with_document=with_document)
    return FileAnswer(file, BUNDLE, etag=etag, headers=headers)


@routes.get("/certificate", response_class=Response, responses=file_answer("application/pdf"))
async def certificate(
    caller: Reader,
    document: ReadDocument,
    language: Annotated[Literal["en", "es"], Query(description="the language of the page")] = "en",
) -> Response:
    """Download the report on the bundle there is now as a page for people (PDF/A). It proves nothing."""
    opened = await known(caller.acting, str(document))
    with await _written(caller, document, with_document=True) as file:
        page = await asyncio.to_thread(_page, file, (await trust(opened)).trust, language)
    headers = {
        "Content-Disposition": attachment(f"{document}.pdf"),
        "Cache-Control": "private, no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(page, media_type="application/pdf", headers=headers)


async def _written(caller: Caller, document: UUID, *, with_document: bool) -> BinaryIO:
    """Return the bundle as an open file that has no name."""
    file = cast("BinaryIO", tempfile.SpooledTemporaryFile(SMALL_BYTES))  # noqa: SIM115  # the answer closes it
    try:
        await caller.app.documents.write_bundle(document, file, with_document=with_document)
    except BaseException:
        file.close()
        raise
    return file


def _page(file: BinaryIO, trust: list[str], language: str) -> bytes:
    from foja.interfaces.certificate.page import BundleInfo, certificate  # late: it is heavy and rarely used

    file.seek(0)
    size = 0
    digest = hashlib.sha256()
    while chunk := file.read(SMALL_BYTES):
        digest.update(chunk)
        size += len(chunk)
    report = verify(file, trust=trust)
    return certificate(report, BundleInfo(digest.hexdigest(), size), language=language)
