"""The ASGI application: routes, error handlers and the check of the host name."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

from fastapi import FastAPI, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from foja import __version__, sql
from foja.errors import Unavailable
from foja.metrics import CONTENT_TYPE, exposition
from foja.observe.queue import gauge_jobs
from foja.web import pages, streams
from foja.web.context import WebContext
from foja.web.conversations import approvals, routes, slots
from foja.web.conversations.routes import Context, json_response
from foja.web.problems import add_problems, problem

LOCAL_NAMES = {"localhost", "127.0.0.1", "[::1]"}


def create_application(ctx: WebContext, *, exposed: bool) -> ASGIApp:
    """Return the application; unless exposed, it accepts only local host names."""
    web = FastAPI(
        title="Foja",
        version=__version__,
        summary="Conversations as ordered, append-only, tamper-evident streams.",
        docs_url=None,
        redoc_url=None,
    )
    web.state.ctx = ctx
    add_problems(web)
    for module in (routes, slots, approvals, streams, pages):
        web.include_router(module.routes)
    if find_spec("ag_ui"):
        web.include_router(import_module("foja.web.conversations.ag_ui").routes)
    web.add_api_route("/healthz", health, tags=["operations"])
    web.add_api_route("/metrics", metrics, tags=["operations"])
    return web if exposed else LocalOnly(web)


async def health(ctx: Context) -> Response:
    """Return 200 if the database answers."""
    await ctx.app.database.row(sql.query("installation"))
    return json_response({"status": "ok"})


async def metrics(ctx: Context) -> Response:
    """Return the metrics of this process and of the queue, in the format of Prometheus."""
    with suppress(Unavailable):  # the metrics of this process need no database
        await gauge_jobs(ctx.app.database, ctx.app.settings.tenant or None)
    return Response(exposition(), media_type=CONTENT_TYPE)


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
