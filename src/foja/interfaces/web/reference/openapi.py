"""`/openapi.json`: every operation by what its function says, and every error as a problem document."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from foja import __version__
from foja.interfaces.web.binding import BoundRoute
from foja.interfaces.web.operation import HttpOperation
from foja.interfaces.web.reference.operations import describe_operations

INFO = {
    "title": "Foja",
    "summary": "Ordered, append-only, tamper-evident streams, and evidence that anyone can check.",
    "version": __version__,
}
SCHEMES = {
    "key": {"type": "http", "scheme": "bearer", "description": "An access key, or a token of the issuer."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-foja-session",
        "description": "The session of a login; over plain HTTP the cookie is named `foja-session`.",
    },
}
_document: dict[str, Any] = {}


def document(web: Starlette) -> dict[str, Any]:
    """Return the OpenAPI document. It is made once: all applications of a process have the same routes."""
    if not _document:
        routes = [each for each in web.routes if isinstance(each, BoundRoute) and each.described]
        paths, schemas = describe_operations(routes, [*SCHEMES])
        components = {"schemas": schemas, "securitySchemes": SCHEMES}
        _document.update({"openapi": "3.1.0", "info": INFO, "paths": paths, "components": components})
    return _document


async def show(request: Request) -> Response:
    """Return the OpenAPI document."""
    return JSONResponse(document(request.app))


OPERATIONS = (HttpOperation("openapi.show", "GET /openapi.json", show, None, described=False),)
