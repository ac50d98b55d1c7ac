"""Running the door: a socket, a server, and an end that does not wait for open streams."""

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
from foja.web.application import site
from foja.web.context import WebContext

BACKLOG = 1024
SHUTDOWN_SECONDS = 1  # seconds for answers that are on their way


class HttpServer(uvicorn.Server):
    """A server that leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(host: str, port: int, *, expose: bool) -> socket.socket:
    """Return a socket that listens. There are no access keys yet: other machines need a clear word."""
    if not expose and not _is_nearby(host):
        raise SetupFailed(
            f"{host} can be reached from other machines and there are no access keys yet; "
            "use 127.0.0.1 behind a proxy that asks who is there, or say --expose"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise SetupFailed(
            f"cannot listen on {host} port {port} ({reason}); choose another with --port or FOJA_WEB_PORT"
        ) from None
    # Else the second part of an answer waits 40 ms for the client to acknowledge the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


@contextlib.asynccontextmanager
async def serving(
    app: App, listener: socket.socket, *, expose: bool = False
) -> AsyncIterator[asyncio.Task[None]]:
    """Serve an app until the block ends; then end every stream at once."""
    ctx = WebContext(app)
    async with running(site(ctx, exposed=expose), listener) as task:
        try:
            yield task
        finally:
            ctx.closing.set()


@contextlib.asynccontextmanager
async def running(served: ASGIApp, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Serve something until the block ends."""
    server = HttpServer(
        uvicorn.Config(
            served,
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
    """Return where a listening socket can be reached."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_nearby(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
