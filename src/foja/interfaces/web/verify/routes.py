"""`/v1/verify`: judge a bundle, or a file with detached proofs. Nothing is stored."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, BinaryIO, cast

from fastapi import Query, Request, Response

from foja.errors import BadPayload
from foja.interfaces.web.caller import Reader
from foja.interfaces.web.reference.answers.documents import ReportAnswer
from foja.interfaces.web.reference.openapi import BINARY, FORM
from foja.interfaces.web.routers import api_router
from foja.interfaces.web.transfer.bodies import check_same_site, media_type_of, pieces_of
from foja.interfaces.web.transfer.form import Form, FormReader
from foja.interfaces.web.verify.judge import VerifyRequest
from foja.pure.judge.proof import MAX_BYTES

routes = api_router("/v1/verify", "verify")
FIELDS = {"trust", "proof", "digest", "name", "domain", "at"}
SMALL_BYTES = 1 << 20
_FORM = {
    "type": "object",
    "properties": {
        "trust": {"type": "array", "items": {"type": "string"}, "description": "roots and keys you trust"},
        "proof": {"type": "array", "items": BINARY, "description": "detached proofs"},
        "digest": {"type": "string", "description": "SHA-256, instead of the file or of its document"},
        "name": {"type": "string"},
        "domain": {"type": "string"},
        "at": {"type": "string", "format": "date-time", "description": "the time to judge at"},
        "file": {**BINARY, "description": "a bundle or a file; the last part"},
    },
}
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": BINARY}, FORM: {"schema": _FORM}},
    }
}


@routes.post("", response_model=ReportAnswer, openapi_extra=BODY)
async def verify(
    caller: Reader,
    request: Request,
    own_trust: Annotated[bool, Query(description="also trust the roots of this installation")] = False,
) -> Response:
    """Judge a bundle that is sent as it is, or a form with trust, proofs and, as its last part, the file.

    Each request is judged in a process of its own, with limits of time and memory; 429 if too many run.
    """
    judges = caller.ctx.judges
    judges.check_room()
    check_same_site(request)
    pieces = pieces_of(request, caller.app.settings.upload_bytes)
    wanted = VerifyRequest()
    with tempfile.TemporaryFile() as file:
        if media_type_of(request) == FORM:
            reader = FormReader(request, pieces, max_field=MAX_BYTES + 1, file_optional=True)
            wanted, pieces = _parse(await reader.open()), reader.pieces()
        size = await _write(pieces, cast("BinaryIO", file))
        if not size and wanted.digest is None:
            raise BadPayload("there is nothing to judge: send a bundle, a file, or a digest with proofs")
        if own_trust:
            wanted = replace(wanted, trust=[*wanted.trust, *caller.app.trust])
        report = await judges.judge(cast("BinaryIO", file) if size else None, wanted)
    return Response(report, media_type="application/json", headers={"Cache-Control": "no-store"})


async def _write(pieces: AsyncIterator[bytes], file: BinaryIO) -> int:
    async for piece in pieces:
        file.write(piece)
    file.flush()
    return file.tell()


def _parse(form: Form) -> VerifyRequest:
    """Return what a form says besides its file."""
    if unknown := sorted({part.name for part in form.parts} - FIELDS):
        raise BadPayload(f"the form has no field {unknown[0]!r}: expected file, {', '.join(sorted(FIELDS))}")
    texts = {name: form.text(name) for name in ("digest", "name", "domain", "at")}
    try:
        at = datetime.fromisoformat(texts["at"]) if texts["at"] else None
    except ValueError:
        raise BadPayload(f"{texts['at']!r:.80} is not a time; write it as 2026-01-31T12:00:00Z") from None
    return VerifyRequest(
        trust=[bytes(part.data) for part in form.parts if part.name == "trust"],
        proofs=[bytes(part.data) for part in form.parts if part.name == "proof"],
        at=at,
        digest=texts["digest"],
        name=texts["name"] or form.filename,
        domain=texts["domain"],
    )
