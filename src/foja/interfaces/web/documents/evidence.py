"""HTTP routes of the files of a document's evidence: bundle and certificate."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from typing import Annotated, BinaryIO, Literal, cast

from starlette.responses import Response

from foja.interfaces.operations.records.documents import OpenDocument, known, trust
from foja.interfaces.web.caller import http_caller
from foja.interfaces.web.operation import HttpOperation, file_answer
from foja.interfaces.web.transfer.files import FileAnswer, attachment
from foja.interfaces.web.transfer.ranges import matches
from foja.pure.core.bundle.names import MEDIA_TYPE
from foja.pure.models.access.principal import Scope
from foja.verification import verify

BUNDLE = MEDIA_TYPE.decode()
SMALL_BYTES = 1 << 20


async def bundle(
    opened: OpenDocument,
    *,
    with_document: Annotated[bool, "false: without the bytes of the document"] = True,
) -> Response:
    """Download the evidence there is now as one file that `foja verify` checks.

    The bundle of a final document never changes: it has an ETag and can be fetched in ranges.
    """
    document = opened.stream.id
    headers = {
        "Content-Disposition": attachment(f"{document}.asice"),
        "Cache-Control": "private, no-cache",
    }
    artifact = await opened.caller.app.documents.artifact(document) if with_document else None
    etag = f'"{artifact}"' if artifact else None
    if matches(http_caller(opened.caller).http.headers, etag):
        return Response(status_code=304, headers={**headers, "ETag": etag or ""})
    file = await _written(opened, with_document=with_document)
    return FileAnswer(file, BUNDLE, etag=etag, headers=headers)


async def certificate(
    opened: OpenDocument, *, language: Annotated[Literal["en", "es"], "the language of the page"] = "en"
) -> Response:
    """Download the report on the bundle there is now as a page for people (PDF/A). It proves nothing."""
    with await _written(opened, with_document=True) as file:
        page = await asyncio.to_thread(certificate_page, file, (await trust(opened)).trust, language)
    headers = {
        "Content-Disposition": attachment(f"{opened.stream.id}.pdf"),
        "Cache-Control": "private, no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(page, media_type="application/pdf", headers=headers)


async def _written(opened: OpenDocument, *, with_document: bool) -> BinaryIO:
    """Return the bundle as an open file that has no name."""
    file = cast("BinaryIO", tempfile.SpooledTemporaryFile(SMALL_BYTES))  # noqa: SIM115  # the answer closes it
    try:
        await opened.caller.app.documents.write_bundle(opened.stream.id, file, with_document=with_document)
    except BaseException:
        file.close()
        raise
    return file


def certificate_page(file: BinaryIO, trust: list[str], language: str) -> bytes:
    """Return the report on a bundle as a page for people."""
    from foja.interfaces.certificate.page import BundleInfo, certificate  # late: it is heavy and rarely used

    file.seek(0)
    size = 0
    digest = hashlib.sha256()
    while chunk := file.read(SMALL_BYTES):
        digest.update(chunk)
        size += len(chunk)
    report = verify(file, trust=trust)
    return certificate(report, BundleInfo(digest.hexdigest(), size), language=language)


ONE = "GET /v1/documents/{document_id}"
OPERATIONS = (
    HttpOperation(
        *("document.bundle", f"{ONE}/bundle", bundle, Scope.READ, known),
        answers=file_answer(BUNDLE, ranges=True),
    ),
    HttpOperation(
        *("document.certificate", f"{ONE}/certificate", certificate, Scope.READ, known),
        answers=file_answer("application/pdf"),
    ),
)
