"""Static files: under their version for ever, and under their name alone with a check for changes."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from foja.interfaces.web.operation import HttpOperation

FOLDER: Final = files("foja.interfaces.web") / "static"
TYPES: Final = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
FOR_EVER: Final = "public, max-age=31536000, immutable"


def static_url(name: str) -> str:
    """Return the address of a static file of this version; a module finds its imports beside it."""
    return f"/static/{version()}/{name}"


@cache
def version() -> str:
    """Return a name for all static files together; it changes with any of them."""
    digests = [
        sha256(each.read_bytes()).digest()
        for each in sorted(FOLDER.iterdir(), key=lambda each: each.name)
        if each.is_file()
    ]
    return sha256(b"".join(digests)).hexdigest()[:16]


async def static(request: Request, name: str) -> Response:
    """Serve a static file, or 304 if the client has the same version."""
    data, kind = _read(name)
    tag = f'"{sha256(data).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers, media_type=kind)


async def versioned(_: Request, wanted: str, name: str) -> Response:
    """Serve a static file that a browser may keep, if it is of the wanted version."""
    data, kind = _read(name)
    kept = FOR_EVER if wanted == version() else "no-store"
    return Response(
        data, headers={"Cache-Control": kept, "X-Content-Type-Options": "nosniff"}, media_type=kind
    )


def _read(name: str) -> tuple[bytes, str]:
    kind = TYPES.get(name.rpartition(".")[2])
    if kind is None or not (FOLDER / name).is_file():
        raise HTTPException(404)
    return (FOLDER / name).read_bytes(), kind


OPERATIONS: Final = (
    HttpOperation("static.newest", "GET /static/{name}", static, None, described=False),
    HttpOperation("static.versioned", "GET /static/{wanted}/{name}", versioned, None, described=False),
)
