"""An HTTP client for timestamp authorities (RFC 3161, 3.4)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

import httpx

from foja.engine.remote.http import FAILURES, open_client, read_body
from foja.errors import redact

QUERY_TYPE, REPLY_TYPE = "application/timestamp-query", "application/timestamp-reply"
MAX_BYTES = 262_144


class Trouble(StrEnum):
    """Why there is no reply."""

    UNREACHABLE = "unreachable"  # connection refused or broken, unknown name, bad TLS
    HUNG = "hung"
    HTTP_STATUS = "http_status"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class NoReply:
    """A request without a reply, and the reason."""

    trouble: Trouble
    detail: str


class Connections:
    """Reused connections to authorities.

    A client serves one request at a time: for every request httpx inspects all connections of
    its client, and with a few idle ones that costs more than the request.
    """

    def __init__(self, *, timeout_seconds: float, most: int = 64) -> None:
        self._seconds = timeout_seconds
        self._slots = asyncio.Semaphore(most)
        self._idle = list[httpx.AsyncClient]()

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._idle:
            await client.aclose()

    async def post(self, url: str, query: bytes) -> bytes | NoReply:
        """Return the complete reply of an authority within the timeout, or why there is none.

        The timeout begins when the request is sent, after the wait in our own queue. The queue always
        moves on, because no request before it takes longer than the timeout.
        """
        try:
            async with self._slots, asyncio.timeout(self._seconds):
                client = self._idle.pop() if self._idle else open_client(self._seconds)
                try:
                    return await _exchange(client, url, query)
                finally:
                    self._idle.append(client)
        except (TimeoutError, httpx.TimeoutException):
            return NoReply(Trouble.HUNG, f"no complete reply within {self._seconds:g} seconds")
        except FAILURES as error:
            return NoReply(Trouble.UNREACHABLE, str(error) or type(error).__name__)


async def _exchange(client: httpx.AsyncClient, url: str, query: bytes) -> bytes | NoReply:
    headers = {"content-type": QUERY_TYPE, "accept": REPLY_TYPE}
    async with client.stream("POST", url, content=query, headers=headers) as response:
        if response.status_code != httpx.codes.OK:
            return NoReply(Trouble.HTTP_STATUS, f"HTTP status {response.status_code}")
        if (body := await read_body(response, MAX_BYTES)) is None:
            return NoReply(Trouble.TOO_LARGE, f"the reply has more than {MAX_BYTES:,} bytes")
        return body


@dataclass(frozen=True, slots=True)
class RemoteAuthority:
    """One authority, identified by its URL."""

    url: str = field(repr=False)
    connections: Connections

    @property
    def name(self) -> str:
        """The URL without its password: names are recorded, counted and shown."""
        return _redacted(self.url)

    async def ask(self, query: bytes) -> bytes | NoReply:
        """Return its reply, or why there is none."""
        return await self.connections.post(self.url, query)


@lru_cache(maxsize=64)
def _redacted(url: str) -> str:
    """Return a URL without its password; cached, since it is asked for with every token."""
    return redact(url)
