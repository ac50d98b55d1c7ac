"""The files of each log (c2sp.org/tlog-tiles): `/v1/log/NUMBER/checkpoint`, and the tiles beside it.

`FOJA_LOG_PUBLIC` says what a stranger reads without a key.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from foja.errors import UnknownEntity
from foja.interfaces.web.access.authentication import grant_of
from foja.interfaces.web.context import WebContext, context_of
from foja.interfaces.web.operation import HttpOperation, file_answer
from foja.interfaces.web.transfer.ranges import matches
from foja.pure.models.access.principal import Scope

NOTE, TILE = "text/plain", "application/octet-stream"
# c2sp.org/tlog-tiles: numbers in groups of three digits, and the width of a partial tile.
PATH = re.compile(r"(?:[0-9]{1,2}|entries)/(?:x[0-9]{3}/){0,6}[0-9]{3}(?:\.p/[0-9]{1,3})?")
ENTRIES = "entries/"
FOR_EVER = "public, max-age=31536000, immutable"
Origin = Annotated[int, Field(ge=1, lt=2**31), "the number of the log"]
TilePath = Annotated[str, "a path of c2sp.org/tlog-tiles: `0/000`, `entries/000.p/7`"]


async def checkpoint(request: Request, origin: Origin) -> Response:
    """Return the newest checkpoint of one log. Who may read it: `FOJA_LOG_PUBLIC`."""
    ctx = context_of(request)
    await _check_reader(request, ctx, entries=False)
    note = await ctx.app.ledger.log.checkpoint_of(origin)
    return Response(note, media_type=NOTE, headers={"Cache-Control": "no-cache"})


async def tile(request: Request, origin: Origin, path: TilePath) -> Response:
    """Return a file of the tree. Entries are ids, numbers and hashes of all tenants: `FOJA_LOG_PUBLIC`."""
    if not PATH.fullmatch(path):
        raise UnknownEntity(f"{path[:80]!r} is not a path of a tile, such as 0/000 or 0/x001/234.p/7")
    ctx, entries = context_of(request), path.startswith(ENTRIES)
    await _check_reader(request, ctx, entries=entries)
    public = not entries or ctx.app.settings.log_public == "entries"
    tag = f'"{origin}/{path}"'  # a file never changes once it is written
    headers = {"ETag": tag, "Cache-Control": FOR_EVER if public else "private"}
    if matches(request.headers, tag):
        return Response(status_code=304, headers=headers)
    return Response(await ctx.app.ledger.log.tile(origin, path), media_type=TILE, headers=headers)


async def _check_reader(request: Request, ctx: WebContext, *, entries: bool) -> None:
    """Refuse who may not read: without the setting, entries need an administrator, the rest a reader."""
    public = ctx.app.settings.log_public
    if public == "entries" or (public == "checkpoints" and not entries):
        await ctx.rate.admit_stranger()
        return
    principal = (await grant_of(request)).principal
    await ctx.rate.admit(principal)
    principal.check(Scope.ADMIN if entries else Scope.READ, installation=entries)


ONE = "GET /v1/log/{origin}"
OPERATIONS = (
    HttpOperation(
        "log.checkpoint_of", f"{ONE}/checkpoint", checkpoint, None, answers=file_answer(NOTE), anyone=True
    ),
    HttpOperation(
        "log.tile", f"{ONE}/tile/{{path:path}}", tile, None, answers=file_answer(TILE), anyone=True
    ),
)
