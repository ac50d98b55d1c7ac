"""Count and trace every request by the template of its route, never by its path."""

from __future__ import annotations

import asyncio
from collections import Counter as Tally
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from time import perf_counter

from prometheus_client import Counter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.metrics import HTTP_REQUESTS, HTTP_SECONDS
from foja.engine.tasks import end
from foja.engine.tracing import span, traced
from foja.engine.tracing.correlation import correlated
from foja.errors import FojaError
from foja.interfaces.web.probes.routes import PATHS

FLUSH_SECONDS = 5.0
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
UNMATCHED = "unmatched"
KEPT = 4_096


class Failures:
    """Failures of routes that are not in the database yet. They are added there every few seconds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: Tally[str] = Tally()

    def add(self, route: str) -> None:
        """Count a failure. A probe that reports one is none."""
        if route not in PATHS:
            self._counts[route] += 1

    async def flush(self) -> None:
        """Add what was counted. If that fails, it stays counted; after a lost answer it may count twice."""
        counts, self._counts = self._counts, Tally()
        if not counts:
            return
        try:
            await self._database.rows(
                sql.query("count_http_failures"), routes=list(counts), counts=list(counts.values())
            )
        except FojaError:
            self._counts.update(counts)

    @asynccontextmanager
    async def flushing(self) -> AsyncIterator[None]:
        """Flush while the block runs, and once at its end."""
        task = asyncio.create_task(self._repeat())
        try:
            yield
        finally:
            await end([task])
            await self.flush()

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()


class Measured:
    """An application whose requests are counted."""

    def __init__(self, inner: ASGIApp, failures: Failures) -> None:
        self._inner, self._failures = inner, failures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in METHODS else "other"
        carrier = _headers(scope) if traced() else None
        with (
            correlated(partial(_entity, scope)),
            span(method, {"http.request.method": method}, carrier) as request,
        ):
            began, status = perf_counter(), 500  # if it ends without an answer

            async def answer(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    _seconds(_route(scope)).observe(perf_counter() - began)
                await send(message)

            try:
                await self._inner(scope, receive, answer)
            finally:
                route = _route(scope)
                _requests(method, route, status).inc()
                if carrier is not None:
                    request.rename(f"{method} {route}")
                    request.set("http.route", route)
                    request.set("http.response.status_code", status)
                if status >= 500:
                    self._failures.add(route)
                    request.fail(str(status))


# Finding a metric by its labels takes longer than counting. There is one for each route, method and status.
_seconds = lru_cache(KEPT)(HTTP_SECONDS.labels)


@lru_cache(KEPT)
def _requests(method: str, route: str, status: int) -> Counter:
    return HTTP_REQUESTS.labels(method, route, str(status))


def _route(scope: Scope) -> str:
    """Return the template of the route that matched."""
    return str(getattr(scope.get("route"), "path_format", UNMATCHED))


def _entity(scope: Scope) -> object:
    """Return the id in the address of a request, once it is known."""
    found = scope.get("path_params", {})
    return next((value for name, value in found.items() if name.endswith("_id")), None)


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
