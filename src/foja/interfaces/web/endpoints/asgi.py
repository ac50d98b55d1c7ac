"""Request and answer of a minimal ASGI application: one body in, one body out."""

from __future__ import annotations

from starlette.types import Receive, Send


async def read_body(receive: Receive, most: int) -> bytes | None:
    """Return the whole body, or None if it is too large or the client disconnected."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > most:
            return None
        if not message.get("more_body"):
            return bytes(body)


async def send_answer(send: Send, status: int, media_type: bytes, body: bytes) -> None:
    """Send a complete answer."""
    headers = [(b"content-type", media_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
