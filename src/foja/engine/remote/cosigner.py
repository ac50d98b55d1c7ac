"""An HTTP client for cosigners (c2sp.org/tlog-witness)."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

import httpx

from foja.engine.remote.http import FAILURES, one_line, open_client, read_body
from foja.engine.remote.tsa import NoReply, Trouble

MAX_BYTES = 64 << 10
SIZE_TYPE = "text/x.tlog.size"
_SIZE = re.compile(r"(0|[1-9][0-9]{0,18})\n")


@dataclass(frozen=True, slots=True)
class Signed:
    """The signature lines of an answer; they are not checked yet."""

    text: str


@dataclass(frozen=True, slots=True)
class OtherSize:
    """The cosigner has signed this size last, not the one that was named."""

    size: int


@dataclass(frozen=True, slots=True)
class Declined:
    """Any other answer."""

    status: int
    detail: str


CosignerReply = Signed | OtherSize | Declined | NoReply


class CosignerConnection:
    """A connection to one cosigner."""

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        self._url, self._seconds = f"{url.rstrip('/')}/add-checkpoint", timeout_seconds
        self._client: httpx.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close the connection."""
        if self._client:
            await self._client.aclose()

    async def add_checkpoint(self, request: str) -> CosignerReply:
        """Return the complete answer within the timeout, or why there is none."""
        self._client = self._client or open_client(self._seconds)
        try:
            async with asyncio.timeout(self._seconds):
                return await _exchange(self._client, self._url, request)
        except (TimeoutError, httpx.TimeoutException):
            return NoReply(Trouble.HUNG, f"no complete answer within {self._seconds:g} seconds")
        except FAILURES as error:
            return NoReply(Trouble.UNREACHABLE, str(error) or type(error).__name__)


async def _exchange(client: httpx.AsyncClient, url: str, request: str) -> CosignerReply:
    async with client.stream("POST", url, content=request.encode()) as response:
        body = await read_body(response, MAX_BYTES, as_it_is=True)
    if body is None:
        return NoReply(Trouble.TOO_LARGE, f"the answer has more than {MAX_BYTES:,} bytes")
    text, status = body.decode(errors="replace"), response.status_code
    if status == httpx.codes.OK:
        return Signed(text)
    media_type = response.headers.get("content-type", "").partition(";")[0].strip()
    size = _SIZE.fullmatch(text)
    if status == httpx.codes.CONFLICT and media_type == SIZE_TYPE and size:
        return OtherSize(int(size[1]))
    return Declined(status, one_line(text))
