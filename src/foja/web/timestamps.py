"""A timestamp authority over HTTP (RFC 3161, 3.4), as a minimal ASGI application."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import Receive, Scope, Send

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
            await _send(send, 200, PEM, self._root)
        elif path not in PATHS:
            await _send(send, 404, TEXT, b"post a timestamp request to /, or get /root.pem\n")
        elif method != "POST":
            await _send(send, 405, TEXT, b"post a timestamp request\n")
        elif (query := await _body(receive)) is None:
            await _send(send, 413, TEXT, b"the timestamp request is too large\n")
        else:
            await _send(send, 200, REPLY, self._reply(query))


async def _body(receive: Receive) -> bytes | None:
    """Return the whole body, or None if it is too large or the client disconnected."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > MAX_REQUEST_BYTES:
            return None
        if not message.get("more_body"):
            return bytes(body)


async def _send(send: Send, status: int, media_type: bytes, body: bytes) -> None:
    headers = [(b"content-type", media_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
