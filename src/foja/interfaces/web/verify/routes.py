"""`/v1/verify`: judge a bundle, or a file with detached proofs. Nothing is stored."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from typing import Annotated, BinaryIO, cast

from starlette.responses import Response

from foja.errors import BadPayload
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.operation import BINARY, FORM, HttpOperation, describe_body
from foja.interfaces.web.reference.answers.documents import ReportAnswer
from foja.interfaces.web.transfer.form import Form, open_body
from foja.interfaces.web.verify.judge import VerifyRequest
from foja.pure.judge.proof import MAX_BYTES
from foja.pure.models.access.principal import Scope

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


async def verify(
    caller: Caller, *, own_trust: Annotated[bool, "also trust the roots of this installation"] = False
) -> Response:
    """Judge a bundle that is sent as it is, or a form with trust, proofs and, as its last part, the file.

    Each request is judged in a process of its own, with limits of time and memory; 429 if too many run.
    """
    judges, most = caller.ctx.judges, caller.app.settings.upload_bytes
    judges.check_room()
    form, pieces = await open_body(caller.http, most, FIELDS, max_field=MAX_BYTES + 1, file_optional=True)
    wanted = _parse(form) if form else VerifyRequest()
    with tempfile.TemporaryFile() as file:
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


OPERATIONS = (
    HttpOperation(
        *("verify.judge", "POST /v1/verify", verify, Scope.READ),
        queried=True,
        answer=ReportAnswer,
        reads=describe_body({"application/octet-stream": BINARY, FORM: _FORM}),
    ),
)
