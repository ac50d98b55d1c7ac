"""Clients for headers of Bitcoin: a node with the JSON-RPC of bitcoind, or a server of blocks (Esplora)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import httpx

from foja.engine.remote.http import FAILURES, open_client, read_body, reason_of, server_name
from foja.engine.remote.online import TIMEOUT_SECONDS, Node
from foja.errors import Unavailable

HEADER_BYTES, _MAX_TEXT = 80, 1000


class HeaderSource(Protocol):
    """Where headers come from. Every failure is raised as `Unavailable`."""

    @property
    def name(self) -> str:
        """The URL without its password."""

    async def height(self) -> int:
        """Return the height of the best block."""

    async def header(self, height: int) -> bytes:
        """Return the 80 bytes of the header at a height of the best chain."""


class BitcoinNode:
    """A node with the JSON-RPC of bitcoind; its URL contains user and password."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._node, self.name = Node(http, url), server_name(url)

    async def height(self) -> int:
        """Return the height of the best block."""
        found = await self._node.ask("getblockcount")
        if isinstance(found, bool) or not isinstance(found, int) or found < 0:
            raise Unavailable(f"{self.name} answered getblockcount with something else than a height")
        return found

    async def header(self, height: int) -> bytes:
        """Return the 80 bytes of the header at a height of the best chain."""
        block = await self._node.ask("getblockhash", height)
        return _header(self.name, await self._node.ask("getblockheader", block, False))


class BlockServer:
    """A server of blocks with the HTTP interface of Esplora."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http, self._url, self.name = http, url.rstrip("/"), server_name(url)

    async def height(self) -> int:
        """Return the height of the best block."""
        found = await self._read("blocks/tip/height")
        if not found.isascii() or not found.isdigit():
            raise Unavailable(f"{self.name} answered with something else than a height")
        return int(found)

    async def header(self, height: int) -> bytes:
        """Return the 80 bytes of the header at a height of the best chain."""
        block = await self._read(f"block-height/{height}")
        if len(block) != 64 or not block.isalnum():
            raise Unavailable(f"{self.name} answered with something else than the hash of a block")
        return _header(self.name, await self._read(f"block/{block}/header"))

    async def _read(self, path: str) -> str:
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                self._http.stream("GET", f"{self._url}/{path}") as response,
            ):
                response.raise_for_status()
                body = await read_body(response, _MAX_TEXT)
        except FAILURES as error:
            raise Unavailable(f"{self.name} did not answer {path}: {reason_of(error)}") from None
        if body is None:
            raise Unavailable(f"the answer of {self.name} has more than {_MAX_TEXT} bytes")
        return body.decode("ascii", "replace").strip()


@asynccontextmanager
async def header_sources(
    rpc_urls: tuple[str, ...], header_urls: tuple[str, ...]
) -> AsyncIterator[list[HeaderSource]]:
    """Yield a client for each node and each server of blocks."""
    kinds: list[tuple[Callable[[httpx.AsyncClient, str], HeaderSource], tuple[str, ...]]] = [
        (BitcoinNode, rpc_urls),
        (BlockServer, header_urls),
    ]
    async with open_client(TIMEOUT_SECONDS) as http:
        yield [kind(http, url) for kind, urls in kinds for url in urls]


def _header(name: str, answer: object) -> bytes:
    try:
        data = bytes.fromhex(answer) if isinstance(answer, str) else b""
    except ValueError:
        data = b""
    if len(data) != HEADER_BYTES:
        raise Unavailable(f"{name} answered with something else than a header of {HEADER_BYTES} bytes")
    return data
