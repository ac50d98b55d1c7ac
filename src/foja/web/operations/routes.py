"""`/healthz`, `/readyz` and `/metrics`: what probes and Prometheus read."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from foja import __version__, sql
from foja.access.model.principal import Scope
from foja.metrics import BUILD, exposition
from foja.web.caller import Caller, needs
from foja.web.context import Context
from foja.web.reference.answers.answer import Health, Readiness
from foja.web.transfer.encoder import JsonAnswer

PATHS = ("/healthz", "/readyz", "/metrics")
# Their numbers are sums over all tenants, and some labels are ids of streams.
MetricsReader = Annotated[Caller, Depends(needs(Scope.OPERATE, installation=True))]


def add_operations(web: FastAPI) -> None:
    """Add the routes that operators need."""
    BUILD.labels(__version__).set(1)
    web.add_api_route("/healthz", health, tags=["operations"], response_model=Health)
    web.add_api_route(
        "/readyz", ready, tags=["operations"], response_model=Readiness, responses={503: {"model": Readiness}}
    )
    web.add_api_route("/metrics", metrics, tags=["operations"], response_class=PlainTextResponse)


async def health(ctx: Context) -> Response:
    """Return 200 if the database answers."""
    await ctx.app.database.row(sql.query("installation"))
    return JsonAnswer({"status": "ok"})


async def ready(ctx: Context) -> Response:
    """Return 200 if the database answers and is migrated, the log runs and the store answers; else 503."""
    parts = await ctx.app.readiness.check()
    fine = all(part.ok for part in parts.values())
    body = {
        "status": "ok" if fine else "failed",
        "parts": {name: part.document() for name, part in parts.items()},
    }
    return JsonAnswer(body, 200 if fine else 503)


async def metrics(caller: MetricsReader, ctx: Context) -> Response:
    """Return the metrics of this process and of the database, in the format of Prometheus."""
    await ctx.app.metrics.read()
    return Response(exposition(), media_type=CONTENT_TYPE_LATEST)
