"""An HTTP client for webhooks: it connects only to addresses that were checked, and follows nothing.

A name is looked up once, every address that it has is checked, and the connection goes to one of those very
addresses: a name that changes in between changes nothing. The TLS certificate is checked against the name.
There is no redirect, no proxy and no cookie here, because `httpcore` has none.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpcore

from foja.engine.tasks import run_apart

MAX_ANSWER_BYTES = 64 << 10
KEEPALIVE_SECONDS = 5.0
MAX_CONNECTIONS = 64
Lookup = Callable[[str, int], Awaitable[list[str]]]
Check = Callable[[str, bool], str | None]  # an address and whether TLS is used; why it is refused


class AddressRefused(httpcore.ConnectError):
    """A name leads to an address that nothing may be sent to."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a webhook. Its body is read and thrown away."""

    status: int
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why there is none."""

    detail: str


async def look_up(host: str, port: int) -> list[str]:
    """Return every address of a name, in the order of the resolver."""
    found = await run_apart(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class _CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to addresses, never to names."""

    def __init__(self, check: Callable[[str], str | None], lookup: Lookup) -> None:
        self._check, self._lookup, self._inner = check, lookup, httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the name is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            addresses = await self._lookup(host.strip("[]"), port)
        except OSError:
            raise httpcore.ConnectError("its name has no address") from None
        for address in addresses:
            if reason := self._check(address):
                raise AddressRefused(f"its name leads to an address that is refused: {reason}")
        failed: Exception = httpcore.ConnectError("its name has no address")
        for address in addresses:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class WebhookSender:
    """Sends messages. `check` returns why an address is refused, or None."""

    def __init__(
        self,
        check: Check,
        *,
        timeout_seconds: float,
        ssl_context: ssl.SSLContext | None = None,
        lookup: Lookup = look_up,
    ) -> None:
        self._seconds, self._check, self._lookup = timeout_seconds, check, lookup
        self._ssl_context = ssl_context
        # With TLS and without: plain HTTP may go to fewer addresses. Made when something is sent.
        self._pools: dict[bool, httpcore.AsyncConnectionPool] = {}

    async def aclose(self) -> None:
        """Close its connections."""
        for pool in self._pools.values():
            await pool.aclose()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer | NoAnswer:
        """Return the answer within the timeout, or why there is none."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._exchange(httpcore.URL(url), headers, body)
        except (TimeoutError, httpcore.TimeoutException):
            return NoAnswer(f"no complete answer within {self._seconds:g} seconds")
        except AddressRefused as error:
            return NoAnswer(str(error))
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError, ValueError) as error:
            return NoAnswer(_reason(error))

    async def _exchange(
        self, url: httpcore.URL, headers: Mapping[str, str], body: bytes
    ) -> Answer | NoAnswer:
        pool = self._pool(encrypted=url.scheme == b"https")
        async with pool.stream("POST", url, headers=list(headers.items()), content=body) as response:
            size = 0
            async for part in response.aiter_stream():  # nothing is decompressed
                size += len(part)
                if size > MAX_ANSWER_BYTES:
                    return NoAnswer(f"the answer has more than {MAX_ANSWER_BYTES:,} bytes")
            return Answer(response.status, _retry_after(response.headers))

    def _pool(self, *, encrypted: bool) -> httpcore.AsyncConnectionPool:
        if encrypted not in self._pools:
            context = (self._ssl_context or ssl.create_default_context()) if encrypted else None
            self._pools[encrypted] = httpcore.AsyncConnectionPool(
                ssl_context=context,
                max_connections=MAX_CONNECTIONS,
                keepalive_expiry=KEEPALIVE_SECONDS,
                network_backend=_CheckedNetwork(_bound(self._check, encrypted), self._lookup),
            )
        return self._pools[encrypted]


def _bound(check: Check, encrypted: bool) -> Callable[[str], str | None]:
    return lambda address: check(address, encrypted)


def _retry_after(headers: Iterable[tuple[bytes, bytes]]) -> float | None:
    found = next((value for name, value in headers if name.lower() == b"retry-after"), b"")
    return float(found) if found.isdigit() and len(found) < 10 else None


def _reason(error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:  # the words of a socket's error contain the address that was looked up
        if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError):
            return os.strerror(cause.errno) if cause.errno else type(cause).__name__
        cause = cause.__cause__ or cause.__context__
    text = " ".join(str(error).split())[:200]
    return text if text.isprintable() and text else type(error).__name__
