"""The ASGI application: routes, error handlers and the check of the host name."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import FastAPI, Response
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from foja import __version__
from foja.engine.health.service import ANSWER_SECONDS, outage
from foja.engine.tasks import within
from foja.errors import Unavailable
from foja.interfaces.operations import OPERATIONS
from foja.interfaces.web.access import login
from foja.interfaces.web.access.cors import shared
from foja.interfaces.web.access.front import LOCAL_NAMES, host_name
from foja.interfaces.web.binding import OperationRoute
from foja.interfaces.web.context import WebContext
from foja.interfaces.web.conversations import routes as conversations
from foja.interfaces.web.documents import additions, evidence
from foja.interfaces.web.documents import routes as documents
from foja.interfaces.web.endpoints.optional import optional_routes
from foja.interfaces.web.galleries import routes as galleries
from foja.interfaces.web.galleries import variants
from foja.interfaces.web.log import files as log_files
from foja.interfaces.web.log import routes as log
from foja.interfaces.web.pages.frame.errors import error_page
from foja.interfaces.web.pages.routes import add_pages
from foja.interfaces.web.probes.routes import add_probes
from foja.interfaces.web.problems import add_problems, problem, problem_of
from foja.interfaces.web.reference import page
from foja.interfaces.web.reference.openapi import ERRORS, describe
from foja.interfaces.web.routers import add_routes
from foja.interfaces.web.streams import routes as streams
from foja.interfaces.web.uploads import routes as uploads
from foja.interfaces.web.verify import routes as verify

API = (
    *(documents, additions, evidence),
    *(conversations, streams),
    *(variants, galleries, verify, uploads),
    *(log, log_files),
)

ROUTES = [OperationRoute(each) for each in OPERATIONS]

_document: dict[str, Any] = {}


def create_application(ctx: WebContext) -> ASGIApp:
    """Return the application; while there are no keys, it accepts only local host names."""
    web = FastAPI(
        title="Foja",
        version=__version__,
        summary="Ordered, append-only, tamper-evident streams, and evidence that anyone can check.",
        docs_url=None,
        redoc_url=None,
        responses=ERRORS,
    )
    web.openapi = partial(_described, web)  # type: ignore[method-assign]
    web.state.ctx = ctx
    add_problems(web, login.to_login, error_page)
    for routes in (*(each.routes for each in (*API, page, login)), *optional_routes()):
        add_routes(web, routes)
    web.router.routes[:0] = ROUTES  # first: a request is compared with each route in turn
    add_pages(web)
    add_probes(web)
    return shared(LocalNames(web, ctx), ctx.front)


def create_metrics_application(ctx: WebContext) -> ASGIApp:
    """Return an application with `/healthz`, `/readyz` and `/metrics` only, for a worker."""
    web = FastAPI(title="Foja worker", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    web.state.ctx = ctx
    add_problems(web)
    add_probes(web)
    return LocalNames(web, ctx)


def _described(web: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document. It is made once: all applications of a process have the same routes."""
    if not _document:
        _document.update(describe(web))
    return _document


class LocalNames:
    """Refuses other host names while there are no keys: a foreign page can resolve its own to here."""

    def __init__(self, inner: ASGIApp, ctx: WebContext) -> None:
        self._inner, self._access = inner, ctx.app.access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and host_name(HTTPConnection(scope)) not in LOCAL_NAMES:
            try:
                required = await within(ANSWER_SECONDS, self._access.required())
            except (Unavailable, TimeoutError) as error:
                await problem_of(outage(error))(scope, receive, send)
                return
            if not required:
                await _wrong_host()(scope, receive, send)
                return
        await self._inner(scope, receive, send)


def _wrong_host() -> Response:
    return problem(
        421,
        "This host name is not served.",
        "use localhost, or make a key with `foja access create`: with keys, every host name is served",
    )
