"""What the HTTP clients share: connections, answers of a limited size, what may be shown of a failure."""

from __future__ import annotations

import ssl
from functools import cache
from typing import Final

import httpx

KEEPALIVE_SECONDS = 2.0  # less than the idle timeout of any server
FAILURES: Final = (httpx.HTTPError, httpx.InvalidURL, OSError)  # a timeout of asyncio is an OSError, too
# A proxy from the environment is used, but never to connect to this machine.
NO_PROXY = {f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")}
_DETAIL = 200


@cache
def certificates() -> ssl.SSLContext:
    """Return what all connections of this process share. Reading the certificates takes 20 ms and more."""
    return httpx.create_ssl_context()


def open_client(timeout: float | httpx.Timeout, *, user: tuple[str, str] | None = None) -> httpx.AsyncClient:
    """Return a client whose requests take so long at most. It follows no redirect."""
    return httpx.AsyncClient(
        timeout=timeout,
        limits=httpx.Limits(keepalive_expiry=KEEPALIVE_SECONDS),
        mounts=NO_PROXY,
        auth=user,
        verify=certificates(),
    )


async def read_body(response: httpx.Response, most: int, *, as_it_is: bool = False) -> bytes | None:
    """Return the body of an answer, or None if it has more bytes. `as_it_is` decompresses nothing."""
    body = bytearray()
    async for part in response.aiter_raw() if as_it_is else response.aiter_bytes():
        body += part
        if len(body) > most:
            return None
    return bytes(body)


def server_name(url: str) -> str:
    """Return a URL without its user, password, path and query: these are often an access key."""
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return "a server whose URL cannot be read"
    return f"{parts.scheme}://{parts.host}" + (f":{parts.port}" if parts.port else "")


def reason_of(error: Exception) -> str:
    """Return why a request failed, without the URL that httpx puts into its text."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return "its URL is not valid"
    return str(error) or type(error).__name__


def one_line(text: str) -> str:
    """Return the beginning of a text of others as one line, without control characters."""
    line = " ".join(text.split())[:_DETAIL]
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)
