"""A JSON-RPC client for a Bitcoin or EVM node of your own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from foja.core.canonical import Json, parse
from foja.errors import NotCanonical, Unavailable
from foja.remote.tsa import NO_PROXY

MAX_BYTES = 1024 * 1024


class Node:
    """A node. Every failure is raised as `Unavailable`."""

    def __init__(self, client: httpx.AsyncClient, url: str, seconds: float) -> None:
        self._client, self._url, self._seconds = client, url, seconds

    async def ask(self, method: str, *params: Json) -> Json:
        """Return the result of a call."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": [*params]}
        try:
            async with asyncio.timeout(self._seconds):
                answer = parse(await self._exchange(json.dumps(request).encode()))
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, OSError, NotCanonical) as error:
            raise Unavailable(f"the node did not answer {method}: {error or type(error).__name__}") from None
        if not isinstance(answer, dict) or answer.get("error") or "result" not in answer:
            raise Unavailable(f"the node refused {method}; check its URL, user and password")
        return answer["result"]

    async def _exchange(self, request: bytes) -> bytes:
        headers = {"content-type": "application/json"}
        async with self._client.stream("POST", self._url, content=request, headers=headers) as response:
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_BYTES:
                    raise Unavailable(f"the node answered with more than {MAX_BYTES:,} bytes")
            return bytes(body)


@asynccontextmanager
async def node(url: str, *, timeout_seconds: float = 10) -> AsyncIterator[Node]:
    """Yield a node; its URL contains user and password."""
    async with httpx.AsyncClient(timeout=timeout_seconds, mounts=NO_PROXY) as client:
        yield Node(client, url, timeout_seconds)
