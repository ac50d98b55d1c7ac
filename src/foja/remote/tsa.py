"""Timestamp authorities over HTTP (RFC 3161, 3.4): a request out, a reply in."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import TracebackType
from typing import Self

import httpx

ASKED, ANSWERED = "application/timestamp-query", "application/timestamp-reply"
MAX_BYTES = 262_144
KEPT_SECONDS = 2.0  # an idle connection; less than any server waits before it closes one
# A proxy of the environment is used, but never to reach this machine.
NEARBY = {f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")}


class Trouble(StrEnum):
    """Why no reply came."""

    UNREACHABLE = "unreachable"  # refused, unknown name, broken off, bad TLS
    HUNG = "hung"
    HTTP_STATUS = "http_status"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class NoReply:
    """What went wrong on the way to an authority and back."""

    trouble: Trouble
    detail: str


class Connections:
    """Kept connections to authorities. Use it as an async context manager, or close it.

    A client serves one request at a time: httpx looks at every connection of a client for every
    request, and with a handful of idle ones that costs more than the request.
    """

    def __init__(self, *, timeout_seconds: float, most: int = 64) -> None:
        self._seconds = timeout_seconds
        self._turn = asyncio.Semaphore(most)
        self._idle = list[httpx.AsyncClient]()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave no connection open."""
        for client in self._idle:
            await client.aclose()

    async def post(self, url: str, query: bytes) -> bytes | NoReply:
        """Return what an authority answers, or why nothing came; whole within the time given.

        Its time begins when it is asked: the queue before it is ours. Everybody in it has a turn, since
        nobody keeps one for longer.
        """
        try:
            async with self._turn, asyncio.timeout(self._seconds):
                client = self._idle.pop() if self._idle else self._new_client()
                try:
                    return await _exchange(client, url, query)
                finally:
                    self._idle.append(client)
        except (TimeoutError, httpx.TimeoutException):
            return NoReply(Trouble.HUNG, f"no whole answer within {self._seconds:g} seconds")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return NoReply(Trouble.UNREACHABLE, str(error) or type(error).__name__)

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        """Made when first needed, and once: reading the system's certificates takes a while."""
        return httpx.create_ssl_context()

    def _new_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            timeout=self._seconds,
            limits=httpx.Limits(keepalive_expiry=KEPT_SECONDS),
            mounts=NEARBY,
            verify=self._certificates,
        )


async def _exchange(client: httpx.AsyncClient, url: str, query: bytes) -> bytes | NoReply:
    headers = {"content-type": ASKED, "accept": ANSWERED}
    async with client.stream("POST", url, content=query, headers=headers) as response:
        if response.status_code != httpx.codes.OK:
            return NoReply(Trouble.HTTP_STATUS, f"HTTP status {response.status_code}")
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MAX_BYTES:
                return NoReply(Trouble.TOO_LARGE, f"more than {MAX_BYTES:,} bytes came")
        return bytes(body)


@dataclass(frozen=True, slots=True)
class RemoteAuthority:
    """One authority, by its address."""

    name: str
    connections: Connections

    async def ask(self, query: bytes) -> bytes | NoReply:
        """Return its reply, or why none came."""
        return await self.connections.post(self.name, query)
