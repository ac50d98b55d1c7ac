"""The ASGI application: routes, error handlers and the check of the host name."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Receive, Scope, Send

from foja import __version__, sql
from foja.errors import Unavailable
from foja.metrics import exposition
from foja.observe.anchors import gauge_anchors
from foja.observe.gaps import count_gaps
from foja.observe.logs import gauge_log
from foja.observe.queue import gauge_jobs
from foja.web import pages, streams
from foja.web.context import Context, WebContext
from foja.web.conversations import approvals, routes, slots
from foja.web.problems import add_problems, problem
from foja.web.reference import page
from foja.web.reference.answers import Health
from foja.web.reference.openapi import ERRORS, describe

LOCAL_NAMES = {"localhost", "127.0.0.1", "[::1]"}


def create_application(ctx: WebContext, *, exposed: bool) -> ASGIApp:
    """Return the application; unless exposed, it accepts only local host names."""
    web = FastAPI(
        title="Foja",
        version=__version__,
        summary="Conversations as ordered, append-only, tamper-evident streams.",
        docs_url=None,
        redoc_url=None,
        responses=ERRORS,
    )
    web.openapi = partial(_described, web)  # type: ignore[method-assign]
    web.state.ctx = ctx
    add_problems(web)
    for module in (routes, slots, approvals, streams, pages, page):
        web.include_router(module.routes)
    if find_spec("ag_ui"):
        web.include_router(import_module("foja.web.conversations.ag_ui").routes)
    _add_operations(web)
    return web if exposed else LocalOnly(web)


def create_metrics_application(ctx: WebContext, *, exposed: bool) -> ASGIApp:
    """Return an application with `/healthz` and `/metrics` only, for a worker."""
    web = FastAPI(title="Foja worker", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    web.state.ctx = ctx
    add_problems(web)
    _add_operations(web)
    return web if exposed else LocalOnly(web)


def _add_operations(web: FastAPI) -> None:
    web.add_api_route("/healthz", health, tags=["operations"], response_model=Health)
    web.add_api_route("/metrics", metrics, tags=["operations"], response_class=PlainTextResponse)


def _described(web: FastAPI) -> dict[str, Any]:
    web.openapi_schema = web.openapi_schema or describe(web)
    return web.openapi_schema


async def health(ctx: Context) -> Response:
    """Return 200 if the database answers."""
    await ctx.app.database.row(sql.query("installation"))
    return JSONResponse({"status": "ok"})


async def metrics(ctx: Context) -> Response:
    """Return the metrics of this process and of the database, in the format of Prometheus."""
    with suppress(Unavailable):  # the metrics of this process need no database
        tenant = ctx.app.settings.tenant or None
        await count_gaps(ctx.app.sweeper, tenant)
        await gauge_jobs(ctx.app.sweeper, tenant)
        await gauge_anchors(ctx.app.sweeper)
        await gauge_log(ctx.app.sweeper)
    return Response(exposition(), media_type=CONTENT_TYPE_LATEST)


class LocalOnly:
    """Refuses other host names: a foreign page can resolve its own name to this machine."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _host(scope) not in LOCAL_NAMES:
            refusal = problem(
                421,
                "This host name is not served.",
                "use localhost, or start with --expose to accept every host name",
            )
            await refusal(scope, receive, send)
        else:
            await self._inner(scope, receive, send)


def _host(scope: Scope) -> str:
    host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
    return host if host.endswith("]") else host.rpartition(":")[0] or host
