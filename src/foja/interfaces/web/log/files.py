"""The files of each log (c2sp.org/tlog-tiles): `/v1/log/NUMBER/checkpoint`, and the tiles beside it.

`FOJA_LOG_PUBLIC` says what a stranger reads without a key.
"""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from foja.errors import UnknownEntity
from foja.interfaces.web.access.authentication import grant_of
from foja.interfaces.web.context import Context, WebContext
from foja.interfaces.web.reference.openapi import ANYONE, ERRORS, file_answer
from foja.interfaces.web.transfer.ranges import matches
from foja.pure.models.access.principal import Scope

routes = APIRouter(prefix="/v1/log", tags=["log"], responses=ERRORS)
NOTE, TILE = "text/plain", "application/octet-stream"
# c2sp.org/tlog-tiles: numbers in groups of three digits, and the width of a partial tile.
PATH = re.compile(r"(?:[0-9]{1,2}|entries)/(?:x[0-9]{3}/){0,6}[0-9]{3}(?:\.p/[0-9]{1,3})?")
ENTRIES = "entries/"
FOR_EVER = "public, max-age=31536000, immutable"
Origin = Annotated[int, Path(ge=1, lt=2**31, description="the number of the log")]


@routes.get(
    "/{origin}/checkpoint", response_class=Response, responses=file_answer(NOTE), openapi_extra=ANYONE
)
async def checkpoint(request: Request, ctx: Context, origin: Origin) -> Response:
    """Return the newest checkpoint of one log. Who may read it: `FOJA_LOG_PUBLIC`."""
    await _check_reader(request, ctx, entries=False)
    note = await ctx.app.ledger.log.checkpoint_of(origin)
    return Response(note, media_type=NOTE, headers={"Cache-Control": "no-cache"})


@routes.get(
    "/{origin}/tile/{path:path}", response_class=Response, responses=file_answer(TILE), openapi_extra=ANYONE
)
async def tile(
    request: Request,
    ctx: Context,
    origin: Origin,
    path: Annotated[str, Path(description="a path of c2sp.org/tlog-tiles: `0/000`, `entries/000.p/7`")],
) -> Response:
    """Return a file of the tree. Entries are ids, numbers and hashes of all tenants: `FOJA_LOG_PUBLIC`."""
    if not PATH.fullmatch(path):
        raise UnknownEntity(f"{path[:80]!r} is not a path of a tile, such as 0/000 or 0/x001/234.p/7")
    entries = path.startswith(ENTRIES)
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
    principal = (await grant_of(request, ctx)).principal
    await ctx.rate.admit(principal)
    principal.check(Scope.ADMIN if entries else Scope.READ, installation=entries)
