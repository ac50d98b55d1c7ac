"""Read a body in pieces, up to a limit of bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request

from foja.errors import TooLarge
from foja.interfaces.web.problems import Rejected

SMALLER = "send less, or raise the limit"


async def pieces_of(request: Request, most: int, advice: str = SMALLER) -> AsyncIterator[bytes]:
    """Yield the body as it arrives. Raise `TooLarge` if it has more bytes than `most`."""
    too_large = TooLarge(f"the body is over {most:,} bytes, the limit here; {advice}")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > most:
        raise too_large
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise too_large
        if piece:
            yield piece


async def read_body(request: Request, most: int, advice: str) -> bytes:
    """Return the whole body. Raise `TooLarge` if it exceeds the limit; the connection discards the rest."""
    return b"".join([piece async for piece in pieces_of(request, most, advice)])


def media_type_of(request: Request) -> str:
    """Return the type of a body, without parameters and in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_same_site(request: Request) -> None:
    """Refuse a body that a page of another site sends: without a preflight it may send forms and files."""
    site, origin = (request.headers.get(name, "none") for name in ("sec-fetch-site", "origin"))
    if site not in ("none", "same-origin") and origin not in request.app.state.ctx.front.origins:
        raise Rejected(403, "The request comes from another site.", "send it from a page of this server")
