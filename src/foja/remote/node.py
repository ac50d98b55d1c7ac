"""A Bitcoin or EVM node of your own, over JSON-RPC: a question out, an answer in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from foja.core.canonical import Json, parse
from foja.errors import NotCanonical, Unavailable
from foja.remote.tsa import NEARBY

MAX_BYTES = 1024 * 1024


class Node:
    """What can be asked of a node; every failure is `Unavailable`."""

    def __init__(self, client: httpx.AsyncClient, url: str, seconds: float) -> None:
        self._client, self._url, self._seconds = client, url, seconds

    async def ask(self, method: str, *params: Json) -> Json:
        """Return the result of a call."""
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": [*params]}
        try:
            async with asyncio.timeout(self._seconds):
                answer = parse(await self._exchange(json.dumps(question).encode()))
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, OSError, NotCanonical) as error:
            raise Unavailable(f"the node did not answer {method}: {error or type(error).__name__}") from None
        if not isinstance(answer, dict) or answer.get("error") or "result" not in answer:
            raise Unavailable(f"the node refused {method}; check its URL, user and password")
        return answer["result"]

    async def _exchange(self, question: bytes) -> bytes:
        headers = {"content-type": "application/json"}
        async with self._client.stream("POST", self._url, content=question, headers=headers) as response:
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_BYTES:
                    raise Unavailable(f"the node answered with more than {MAX_BYTES:,} bytes")
            return bytes(body)


@asynccontextmanager
async def node(url: str, *, timeout_seconds: float = 10) -> AsyncIterator[Node]:
    """Lend a node; user and password stand in its URL."""
    async with httpx.AsyncClient(timeout=timeout_seconds, mounts=NEARBY) as client:
        yield Node(client, url, timeout_seconds)
