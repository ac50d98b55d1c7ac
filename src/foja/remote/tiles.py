"""An HTTP client for a log in tiles (c2sp.org/tlog-tiles)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from foja.errors import Unavailable
from foja.remote.tsa import NO_PROXY

MAX_BYTES = 256 * 1024


class TileLog:
    """A log. Every failure is raised as `Unavailable`."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client, self._url = client, url.rstrip("/")

    async def read(self, path: str) -> bytes:
        """Return a file of the log."""
        try:
            async with self._client.stream("GET", f"{self._url}/{path}") as response:
                response.raise_for_status()
                body = bytearray()
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > MAX_BYTES:
                        raise Unavailable(f"the log's {path} has more than {MAX_BYTES:,} bytes")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise Unavailable(
                f"cannot read {path} of the log: {error or type(error).__name__}; check FOJA_REKOR_URL"
            ) from None
        return bytes(body)


@asynccontextmanager
async def tile_log(url: str, *, timeout_seconds: float = 10) -> AsyncIterator[TileLog]:
    """Yield the log at this URL."""
    async with httpx.AsyncClient(timeout=timeout_seconds, mounts=NO_PROXY) as client:
        yield TileLog(client, url)
