"""The HTTP server: its socket, and a shutdown that does not wait for open streams."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from starlette.types import ASGIApp

from foja.app import App
from foja.errors import SetupFailed
from foja.web.application import create_application
from foja.web.context import WebContext

BACKLOG = 1024
SHUTDOWN_SECONDS = 1  # for answers that are being sent


class HttpServer(uvicorn.Server):
    """A server that leaves signals to its caller."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(host: str, port: int, *, expose: bool) -> socket.socket:
    """Return a listening socket. There are no access keys yet, so other machines need `expose`."""
    if not expose and not _is_loopback(host):
        raise SetupFailed(
            f"{host} is reachable from other machines and there are no access keys yet; "
            "use 127.0.0.1 behind a proxy that authenticates, or pass --expose"
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


@contextlib.asynccontextmanager
async def serving(
    app: App, listener: socket.socket, *, expose: bool = False
) -> AsyncIterator[asyncio.Task[None]]:
    """Serve an app until the block ends; then close every stream."""
    ctx = WebContext(app)
    async with running(create_application(ctx, exposed=expose), listener) as task:
        try:
            yield task
        finally:
            ctx.closing.set()


@contextlib.asynccontextmanager
async def running(application: ASGIApp, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Serve an ASGI application until the block ends."""
    server = HttpServer(
        uvicorn.Config(
            application,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
    )
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


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
