"""`/healthz`, `/readyz` and `/metrics`: what probes and Prometheus read."""

from __future__ import annotations

from contextlib import suppress

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from foja import __version__
from foja.engine.health.recorder import DATABASE
from foja.engine.metrics import BUILD, exposition
from foja.engine.observe.metrics.gauges import HEALTH, show_parts
from foja.errors import FojaError, LedgerUnavailable
from foja.interfaces.web.caller import caller_of, visitor_of
from foja.interfaces.web.context import context_of
from foja.interfaces.web.operation import TEMPLATE, HttpOperation
from foja.interfaces.web.reference.answers.answer import Health, Readiness
from foja.interfaces.web.transfer.encoder import JsonAnswer
from foja.pure.models.access.principal import Scope

PATHS = ("/healthz", "/readyz", "/metrics")


async def health(request: Request) -> Response:
    """Return 200 if the database answers, else 503."""
    await context_of(request).app.readiness.check_database()
    return JsonAnswer({"status": "ok"})


async def ready(request: Request) -> Response:
    """Return 200 if this process can serve, else 503, with every part, its state and since when.

    Needed are a database that takes writes, its schema, a log that is not halted, a store that answers.
    Another part that fails is named, and the status is `degraded`. Operators with a key see its error.
    """
    found = await context_of(request).app.readiness.check()
    words = DATABASE not in found.missing and await _is_operator(request)
    return JsonAnswer(found.document(words=words), 503 if found.missing else 200)


async def _is_operator(request: Request) -> bool:
    """Return whether a key, token or session allows to operate the installation."""
    with suppress(FojaError):
        if await context_of(request).app.access.required() and (visitor := await visitor_of(request)):
            return visitor.principal.installation and visitor.principal.may(Scope.OPERATE)
    return False


async def metrics(request: Request) -> Response:
    """Return the metrics of this process and of the database, in the format of Prometheus.

    They are sums over all tenants, some with ids of streams as labels. While the database does not answer,
    nobody can be recognised, and only how every part does is returned, as `/readyz` says it.
    """
    app = context_of(request).app
    try:
        caller = await caller_of(request)
    except LedgerUnavailable:
        show_parts(app.health.known)
        return Response(exposition(HEALTH), media_type=CONTENT_TYPE_LATEST)
    caller.principal.check(Scope.OPERATE, installation=True)
    await app.metrics.read()
    BUILD.labels(__version__).set(1)
    return Response(exposition(), media_type=CONTENT_TYPE_LATEST)


UNREADY = {
    "description": "A part that is needed fails.",
    "content": {"application/json": {"schema": {"$ref": TEMPLATE.format(model="Readiness")}}},
}
EXPOSITION = {
    "description": "The metrics.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}
OPERATIONS = (
    HttpOperation("probes.health", "GET /healthz", health, None, answer=Health, anyone=True),
    HttpOperation(
        *("probes.ready", "GET /readyz", ready, None),
        answer=Readiness,
        answers={503: UNREADY},
        anyone=True,
    ),
    HttpOperation("probes.metrics", "GET /metrics", metrics, None, answers={200: EXPOSITION}),
)
