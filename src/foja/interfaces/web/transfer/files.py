"""An open file as an answer: whole or a range of it, a chunk at a time."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from typing import BinaryIO
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from foja.interfaces.web.problems import problem
from foja.interfaces.web.transfer.ranges import Span, Unsatisfiable, matches, requested_span

CHUNK_BYTES = 1 << 20


class FileAnswer(Response):
    """Sends a file and closes it. Ranges are honoured only where an ETag says which version it is."""

    def __init__(
        self, file: BinaryIO, media_type: str, *, etag: str | None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._file, self._type, self._etag, self._more = file, media_type, etag, dict(headers or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            size = self._file.seek(0, io.SEEK_END)
            asked = Headers(scope=scope)
            try:
                span = requested_span(asked, size, self._etag) if self._etag else None
            except Unsatisfiable:
                refusal = problem(
                    416, "There is no such range.", f"the file has {size:,} bytes; ask for less"
                )
                refusal.headers["Content-Range"] = f"bytes */{size}"
                await refusal(scope, receive, send)
                return
            if matches(asked, self._etag):
                await self._start(send, 304, None)
            else:
                await self._answer(send, size, span)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _answer(self, send: Send, size: int, span: Span | None) -> None:
        part = span or Span(0, size)
        more = {"Content-Range": f"bytes {part.start}-{part.stop - 1}/{size}"} if span else {}
        await self._start(send, 206 if span else 200, part.stop - part.start, more)
        await self._send(send, part)

    async def _start(
        self, send: Send, status: int, length: int | None, more: Mapping[str, str] | None = None
    ) -> None:
        fields = {
            **self._more,
            "X-Content-Type-Options": "nosniff",
            "Accept-Ranges": "bytes" if self._etag else "none",
            **(more or {}),
        }
        if self._etag:
            fields["ETag"] = self._etag
        if status in (200, 206):
            fields["Content-Type"] = self._type
        if length is not None:
            fields["Content-Length"] = str(length)
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": headers})

    async def _send(self, send: Send, part: Span) -> None:
        self._file.seek(part.start)
        left = part.stop - part.start
        while left and (chunk := await asyncio.to_thread(self._file.read, min(left, CHUNK_BYTES))):
            left -= len(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})


def attachment(name: str) -> str:
    """Return the Content-Disposition that saves an answer under this name (RFC 6266)."""
    plain = "".join(each if (each.isascii() and each.isalnum()) or each in "-_. " else "_" for each in name)
    return f"attachment; filename=\"{plain or 'file'}\"; filename*=UTF-8''{quote(name, safe='')}"
