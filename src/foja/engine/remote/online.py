"""HTTP clients for a node of your own, and for a log in tiles (c2sp.org/tlog-tiles)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import httpx

from foja.engine.remote.http import FAILURES, open_client, read_body, reason_of
from foja.errors import NotCanonical, ObjectMissing, Unavailable
from foja.pure.core.canonical import Json, parse

TIMEOUT_SECONDS = 10.0
MAX_ANSWER_BYTES, MAX_TILE_BYTES = 1024 * 1024, 256 * 1024
_AS_IT_IS = {"accept-encoding": "identity"}


class Node:
    """A JSON-RPC client for a Bitcoin or EVM node. Every failure is raised as `Unavailable`."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http, self._url = http, url

    async def ask(self, method: str, *params: Json) -> Json:
        """Return the result of a call."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": [*params]}
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                self._http.stream("POST", self._url, json=request, headers=_AS_IT_IS) as response,
            ):
                answer = parse(await _read(response, MAX_ANSWER_BYTES, "the node's answer"))
        except (*FAILURES, NotCanonical) as error:
            raise Unavailable(f"the node did not answer {method}: {reason_of(error)}") from None
        if not isinstance(answer, dict) or answer.get("error") or "result" not in answer:
            raise Unavailable(f"the node refused {method}; check its URL, user and password")
        return answer["result"]


class NotPublic(Unavailable):
    """The log has the file, and does not show it to strangers."""


class TileLog:
    """A client for a log. A file that is not there is `ObjectMissing`, every other failure `Unavailable`.

    A file is asked for as it is: a compressed one could be of any size.
    """

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http, self._url = http, url.rstrip("/")

    async def read(self, path: str) -> bytes:
        """Return a file of the log."""
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                self._http.stream("GET", f"{self._url}/{path}", headers=_AS_IT_IS) as response,
            ):
                if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
                    raise NotPublic(f"the log shows no {path} to strangers (HTTP {response.status_code})")
                if response.status_code == httpx.codes.NOT_FOUND:
                    raise ObjectMissing(f"the log has no {path}")
                response.raise_for_status()
                return await _read(response, MAX_TILE_BYTES, f"the log's {path}")
        except FAILURES as error:
            raise Unavailable(f"cannot read {path} of the log: {reason_of(error)}; check its URL") from None


Client = TypeVar("Client", Node, TileLog)


@asynccontextmanager
async def connect(kind: type[Client], url: str) -> AsyncIterator[Client]:
    """Yield the client for this URL; that of a node contains user and password."""
    async with open_client(TIMEOUT_SECONDS) as http:
        yield kind(http, url)


async def _read(response: httpx.Response, most: int, name: str) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise Unavailable(f"{name} is compressed, although that was not asked for")
    if (body := await read_body(response, most, as_it_is=True)) is None:
        raise Unavailable(f"{name} has more than {most:,} bytes")
    return body
