"""`/healthz`, `/readyz` and `/metrics`: what probes and Prometheus read."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from foja import __version__
from foja.engine.health.recorder import DATABASE
from foja.engine.metrics import BUILD, exposition
from foja.engine.observe.metrics.gauges import HEALTH, show_parts
from foja.errors import FojaError, LedgerUnavailable
from foja.interfaces.web.access.authentication import grant_of
from foja.interfaces.web.caller import Caller, caller_of
from foja.interfaces.web.context import Context
from foja.interfaces.web.pages.frame.visitor import visitor_of
from foja.interfaces.web.reference.answers.answer import Health, Readiness
from foja.interfaces.web.reference.openapi import ANYONE
from foja.interfaces.web.transfer.encoder import JsonAnswer
from foja.pure.models.access.principal import Scope

PATHS = ("/healthz", "/readyz", "/metrics")


def add_probes(web: FastAPI) -> None:
    """Add the routes that operators need."""
    BUILD.labels(__version__).set(1)
    probe: dict[str, Any] = {"tags": ["operations"], "openapi_extra": ANYONE}
    web.add_api_route("/healthz", health, response_model=Health, **probe)
    web.add_api_route(
        "/readyz", ready, response_model=Readiness, responses={503: {"model": Readiness}}, **probe
    )
    web.add_api_route("/metrics", metrics, tags=["operations"], response_class=PlainTextResponse)


async def health(ctx: Context) -> Response:
    """Return 200 if the database answers, else 503."""
    await ctx.app.readiness.check_database()
    return JsonAnswer({"status": "ok"})


async def ready(request: Request, ctx: Context) -> Response:
    """Return 200 if this process can serve, else 503, with every part, its state and since when.

    Needed are a database that takes writes, its schema, a log that is not halted, a store that answers.
    Another part that fails is named, and the status is `degraded`. Operators with a key see its error.
    """
    found = await ctx.app.readiness.check()
    words = DATABASE not in found.missing and await _is_operator(request, ctx)
    body = found.document(words=words)
    return JsonAnswer(body, 503 if found.missing else 200)


async def _is_operator(request: Request, ctx: Context) -> bool:
    """Return whether a key, token or session allows to operate the installation."""
    with suppress(FojaError):
        visitor = await visitor_of(request, ctx) if await ctx.app.access.required() else None
        return visitor is not None and visitor.installation and visitor.may(Scope.OPERATE)
    return False


async def metrics_reader(request: Request, ctx: Context) -> Caller | None:
    """Return who reads metrics: sums over all tenants, some with ids of streams as labels.

    While the database does not answer, nobody can be recognised, and it is None.
    """
    try:
        caller = await caller_of(ctx, await grant_of(request, ctx))
    except LedgerUnavailable:
        return None
    caller.principal.check(Scope.OPERATE, installation=True)
    return caller


async def metrics(caller: Annotated[Caller | None, Depends(metrics_reader)], ctx: Context) -> Response:
    """Return the metrics of this process and of the database, in the format of Prometheus.

    While the database does not answer, only how every part does, as `/readyz` says it.
    """
    if caller is None:
        show_parts(ctx.app.health.known)
        return Response(exposition(HEALTH), media_type=CONTENT_TYPE_LATEST)
    await ctx.app.metrics.read()
    return Response(exposition(), media_type=CONTENT_TYPE_LATEST)
