"""Routers whose routes are complete when they are declared, so that an application takes them as they are.

`include_router` would build every route a second time: half of the time that a server needs to start.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends, FastAPI

from foja.interfaces.web.limits.admission import admit
from foja.interfaces.web.reference.openapi import ERRORS


def api_router(prefix: str, tag: str, *, described: bool = True) -> APIRouter:
    """Return a router of the API: each request is counted, and each error is a problem document."""
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        responses=ERRORS,
        dependencies=[Depends(admit)],
        include_in_schema=described,
    )


def add_routes(web: FastAPI, routes: APIRouter) -> None:
    """Add the routes of a router to an application. They keep nothing of it, so others can share them."""
    web.router.routes.extend(routes.routes)
