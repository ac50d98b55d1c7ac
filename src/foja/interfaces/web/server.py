"""The HTTP server: its socket, its limit of connections, and a shutdown that does not wait for streams."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import socket
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp

from foja.app import App
from foja.engine.tasks import end
from foja.errors import SetupFailed
from foja.interfaces.web.access.front import is_loopback
from foja.interfaces.web.application import create_application, create_metrics_application
from foja.interfaces.web.connection import SPARE_CONNECTIONS, Capacity, Connection
from foja.interfaces.web.context import WebContext
from foja.interfaces.web.probes.measure import Failures, Measured

BACKLOG = 1024
ACCEPTED_AT_ONCE = 64
OWN_FILES = 128  # what the rest of a process opens
MAX_CONNECTIONS = 1024
ACCEPT_LOG_SECONDS = 60.0
SHUTDOWN_SECONDS = 1  # for answers that are being sent
log = logging.getLogger("foja.web")


class HttpServer(uvicorn.Server):
    """A server that leaves signals to its caller, and accepts a bounded number of connections at once."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(
                BACKLOG
            )  # asyncio has one number for the queue and for how many it accepts at once

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(host: str, port: int, *, expose: bool, advice: str = "pass --expose") -> socket.socket:
    """Return a listening socket. Raise `SetupFailed` for an address of other machines without `expose`."""
    if not expose and not is_loopback(host):
        raise SetupFailed(
            f"{host} is reachable from other machines, and callers need not say who they are; "
            f"use 127.0.0.1, or {advice}"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise SetupFailed(
            f"cannot listen on {host} port {port} ({reason}); choose another with --port or FOJA_WEB_PORT"
        ) from None
    # Without it, the second part of an answer waits 40 ms until the client acknowledges the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def bind_for(app: App, port: int) -> socket.socket:
    """Return a socket at the address in the settings; other machines are served once there is a key."""
    required = await app.access.required()
    advice = "make a key first: `foja access create --scopes admin --installation`"
    return bind(app.settings.web_host, port, expose=required, advice=advice)


@contextlib.asynccontextmanager
async def serving(
    app: App, listener: socket.socket, *, metrics_only: bool = False
) -> AsyncIterator[asyncio.Task[None]]:
    """Serve an app until the block ends; then close every stream."""
    await app.access.open()
    ctx = WebContext(app)
    create = create_metrics_application if metrics_only else create_application
    failures = Failures(app.database)
    application = Measured(create(ctx), failures)
    async with failures.flushing(), running(application, listener, app.settings.max_connections) as task:
        watch = asyncio.create_task(app.watch())
        try:
            yield task
        finally:
            ctx.closing.set()
            await end([watch])
            await ctx.close()


@contextlib.asynccontextmanager
async def running(
    application: ASGIApp, listener: socket.socket, max_connections: int = MAX_CONNECTIONS
) -> AsyncIterator[asyncio.Task[None]]:
    """Serve an ASGI application until the block ends."""
    protocol = partial(Connection, capacity=Capacity(_connection_limit(max_connections)))
    server = HttpServer(
        uvicorn.Config(
            application,
            http=cast(Any, protocol),
            backlog=ACCEPTED_AT_ONCE,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # `web/access/front.py` decides which proxies are believed
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
    )
    with _accept_failures_logged_once():
        task = asyncio.create_task(server.serve([listener]))
        try:
            yield task
        finally:
            server.should_exit = True
            await task


def address(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _connection_limit(requested: int) -> int:
    """Return how many connections fit below the limit of open files."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return requested
    # Refused connections are closed a step later than they are accepted.
    spare = OWN_FILES + SPARE_CONNECTIONS + 2 * ACCEPTED_AT_ONCE
    return min(requested, max(files - spare, files // 4))


@contextlib.contextmanager
def _accept_failures_logged_once() -> Iterator[None]:
    """Log one line a minute while no file is left; asyncio logs a traceback for every connection."""
    loop, quiet_until = asyncio.get_running_loop(), 0.0
    previous = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal quiet_until
        if "accept()" not in context["message"]:
            (previous or _default_handler)(loop, context)
        elif loop.time() >= quiet_until:
            quiet_until = loop.time() + ACCEPT_LOG_SECONDS
            log.error("no connection can be accepted (%s); raise ulimit -n", context.get("exception"))

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(previous)


def _default_handler(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    loop.default_exception_handler(context)
