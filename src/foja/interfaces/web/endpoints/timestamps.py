"""A timestamp authority over HTTP (RFC 3161, 3.4), as a minimal ASGI application."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import Receive, Scope, Send

from foja.interfaces.web.endpoints.asgi import read_body, send_answer

MAX_REQUEST_BYTES = 4096
PATHS = ("/", "/tsr")
REPLY, TEXT, PEM = b"application/timestamp-reply", b"text/plain; charset=utf-8", b"application/x-pem-file"


class TimestampEndpoint:
    """Answers requests posted to `/` or `/tsr`, and serves its root certificate."""

    def __init__(self, reply: Callable[[bytes], bytes], root: bytes) -> None:
        self._reply, self._root = reply, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        if method in ("GET", "HEAD") and path == "/root.pem":
            await send_answer(send, 200, PEM, self._root)
        elif path not in PATHS:
            await send_answer(send, 404, TEXT, b"post a timestamp request to /, or get /root.pem\n")
        elif method != "POST":
            await send_answer(send, 405, TEXT, b"post a timestamp request\n")
        elif (query := await read_body(receive, MAX_REQUEST_BYTES)) is None:
            await send_answer(send, 413, TEXT, b"the timestamp request is too large\n")
        else:
            await send_answer(send, 200, REPLY, self._reply(query))
