"""`/v1/uploads`: resumable uploads by tus 1.0; a finished one becomes a document or an image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.responses import Response

from foja.engine.blobs.uploads import PartialUploads, Upload, UploadBusy
from foja.errors import Refused, TooLarge
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.operation import HttpOperation
from foja.interfaces.web.problems import Rejected, describe_problem
from foja.interfaces.web.reference.answers.uploads import UploadAnswer
from foja.interfaces.web.transfer.bodies import media_type_of, pieces_of
from foja.interfaces.web.uploads.description import BODY, headers
from foja.interfaces.web.uploads.headers import (
    ALGORITHM,
    CHUNK_TYPE,
    EXTENSIONS,
    RESUMABLE,
    VERSION,
    Checksum,
    check_version,
    expiry,
    read_checksum,
    read_length,
    read_metadata,
)
from foja.interfaces.web.uploads.receiver import receive
from foja.interfaces.web.uploads.targets import check_metadata, use
from foja.pure.models.access.principal import Scope

RETRY_SECONDS = 60.0


async def capabilities(caller: Caller) -> Response:
    """Return the version, the extensions and the limit of this server."""
    about = {"Tus-Version": VERSION, "Tus-Extension": EXTENSIONS, "Tus-Checksum-Algorithm": ALGORITHM}
    most = str(caller.app.settings.upload_bytes)
    return Response(status_code=204, headers={**RESUMABLE, **about, "Tus-Max-Size": most})


async def create(caller: Caller) -> Response:
    """Create an upload of Upload-Length bytes; the body may hold its first bytes."""
    request = caller.http
    check_version(request.headers)
    length, metadata = read_length(request.headers, "Upload-Length"), read_metadata(request.headers)
    checksum = read_checksum(request.headers)
    check_metadata(metadata, caller, length)
    named, asked = caller.request(), {"length": length, "metadata": metadata}
    if found := await named.found(asked):
        return await _created_before(caller, found[0])
    uploads, settings = _uploads(caller), caller.app.settings
    if length > settings.upload_bytes:
        raise TooLarge(f"an upload has at most {settings.upload_bytes:,} bytes (FOJA_UPLOAD_MAX_MB)")
    who = caller.principal
    await uploads.sweep()
    if uploads.reserved(who.tenant) + length > settings.upload_space_mb * 1e6:
        raise Rejected(
            429,
            "Too many uploads are open.",
            "finish or delete one, or raise FOJA_UPLOAD_SPACE_MB",
            retry_after=RETRY_SECONDS,
        )
    upload = uploads.create(who.tenant, who.actor, length, metadata, seconds=settings.upload_seconds)
    if first := await named.note(asked, upload.token):
        uploads.remove(upload)
        return await _created_before(caller, first[0])
    more: Mapping[str, str] = {}
    if media_type_of(request) == CHUNK_TYPE or not length:
        more = await _receive(caller, upload, 0, checksum)
    return _created(upload, more, 201)


async def offset(caller: Caller, token: str) -> Response:
    """Return how many bytes have arrived (Upload-Offset)."""
    check_version(caller.http.headers)
    upload = await _finished(caller, _find(caller, token))
    state = {"Upload-Offset": str(_uploads(caller).offset(upload)), "Upload-Length": str(upload.length)}
    return Response(headers={**RESUMABLE, **state, **expiry(upload.expires_at)})


async def state(caller: Caller, token: str) -> dict[str, Any]:
    """Return how far an upload is, and what it became."""
    upload = await _finished(caller, _find(caller, token))
    result: dict[str, Any] = {"document": None, "image": None, "problem": None, **(upload.result or {})}
    here = {"offset": _uploads(caller).offset(upload), "length": upload.length}
    return {**here, "finished": upload.result is not None, **result}


async def append(caller: Caller, token: str) -> Response:
    """Append bytes at Upload-Offset. The last ones make the upload a document or an image."""
    request = caller.http
    check_version(request.headers)
    if media_type_of(request) != CHUNK_TYPE:
        raise Rejected(415, "The body is not part of an upload.", f"send it with Content-Type: {CHUNK_TYPE}")
    upload = _find(caller, token)
    start, checksum = read_length(request.headers, "Upload-Offset"), read_checksum(request.headers)
    more = await _receive(caller, upload, start, checksum)
    return Response(status_code=204, headers={**RESUMABLE, **expiry(upload.expires_at), **more})


async def remove(caller: Caller, token: str) -> Response:
    """Remove an upload and what has arrived of it. What it became stays."""
    check_version(caller.http.headers)
    _uploads(caller).remove(_find(caller, token))
    return Response(status_code=204, headers=RESUMABLE)


async def _created_before(caller: Caller, token: str) -> Response:
    upload = await _finished(caller, _find(caller, token))
    return _created(upload, {"Upload-Offset": str(_uploads(caller).offset(upload))}, 200)


def _created(upload: Upload, more: Mapping[str, str], status: int) -> Response:
    address = {"Location": f"/v1/uploads/{upload.token}"}
    return Response(status_code=status, headers={**RESUMABLE, **address, **expiry(upload.expires_at), **more})


async def _receive(caller: Caller, upload: Upload, offset: int, checksum: Checksum | None) -> dict[str, str]:
    """Take the bytes of a request, and use the upload if they are the last; return what to answer."""
    if upload.result is not None:
        raise Rejected(409, "The upload is finished.", f"see what it became: GET /v1/uploads/{upload.token}")
    pieces = pieces_of(caller.http, caller.app.settings.upload_bytes)
    size = await receive(_uploads(caller), upload, offset, pieces, checksum)
    done = await _finished(caller, upload)
    if done.result and (problem := done.result.get("problem")):
        raise Rejected(problem["status"], problem["title"], problem["detail"])
    return {"Upload-Offset": str(size)}


async def _finished(caller: Caller, upload: Upload) -> Upload:
    """Return the upload; if all of it has arrived, it becomes what its metadata says, or says why not."""
    uploads = _uploads(caller)
    if upload.result is not None or uploads.offset(upload) < upload.length:
        return upload
    try:
        with uploads.writing(upload):
            return uploads.finish(upload, await _use(caller, upload, uploads.part(upload)))
    except UploadBusy:
        upload = uploads.newest(upload)
        if upload.result is None:
            raise Rejected(423, "The upload is being finished.", "ask again in a moment") from None
        return upload


async def _use(caller: Caller, upload: Upload, part: Path) -> Mapping[str, Any]:
    try:
        return await use(caller, upload, part)
    except Refused as error:
        return {"problem": describe_problem(error)}


def _find(caller: Caller, token: str) -> Upload:
    return _uploads(caller).find(token, caller.principal.tenant, caller.principal.actor)


def _uploads(caller: Caller) -> PartialUploads:
    return caller.ctx.uploads


ALL, WRITE = "/v1/uploads", Scope.WRITE
ONE = f"{ALL}/{{token}}"
OPERATIONS = (
    HttpOperation("uploads.capabilities", f"OPTIONS {ALL}", capabilities, WRITE, status=204),
    HttpOperation(
        *("uploads.create", f"POST {ALL}", create, WRITE),
        takes_key=True,
        status=201,
        answers={200: {"description": "It was created before."}},
        headers=headers("Tus-Resumable", "Upload-Length", optional=("Upload-Metadata", "Upload-Checksum")),
        reads=BODY,
    ),
    HttpOperation("uploads.offset", f"HEAD {ONE}", offset, WRITE, headers=headers("Tus-Resumable")),
    HttpOperation("uploads.state", f"GET {ONE}", state, WRITE, answer=UploadAnswer),
    HttpOperation(
        *("uploads.append", f"PATCH {ONE}", append, WRITE),
        status=204,
        headers=headers("Tus-Resumable", "Upload-Offset", optional=("Upload-Checksum",)),
        reads=BODY,
    ),
    HttpOperation(
        "uploads.remove", f"DELETE {ONE}", remove, WRITE, status=204, headers=headers("Tus-Resumable")
    ),
)
