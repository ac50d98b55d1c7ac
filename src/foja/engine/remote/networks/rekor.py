"""An HTTP client for a Rekor log of version 2: add an entry, read its checkpoint and tiles."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TypeAlias

import httpx

from foja.engine.remote.http import FAILURES, one_line, open_client, read_body, reason_of, server_name
from foja.errors import NotCanonical, Unavailable
from foja.pure.core.canonical import parse

TIMEOUT_SECONDS = 30.0  # a log answers when its next checkpoint covers the entry
MAX_BYTES = 256 * 1024
_ENTRIES = "api/v2/log/entries"
_REFUSING = frozenset({400, 413, 422})
_INDEX = re.compile(r"\bindex (0|[1-9][0-9]{0,15})\b")


@dataclass(frozen=True, slots=True)
class Added:
    """The log says that it recorded the entry; nothing of it is checked yet."""

    answer: bytes


@dataclass(frozen=True, slots=True)
class Exists:
    """The log says that it has the entry already, and at which index; None: it does not say."""

    index: int | None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The log refuses the entry; the same bytes will be refused again."""

    detail: str


@dataclass(frozen=True, slots=True)
class Slow:
    """The log has the request and did not answer in time; the entry may have been recorded."""

    detail: str


Answer: TypeAlias = Added | Exists | Rejected | Slow


class RekorClient:
    """A client for one log. An outage is raised as `Unavailable`."""

    def __init__(self, url: str, read_url: str = "", *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Take the address of the log, and that of its checkpoint and tiles where it is another one."""
        self._url, self._read_url = url.rstrip("/"), (read_url or url).rstrip("/")
        self._seconds = timeout_seconds
        # A log that does not accept the connection is down; one that has the request may be slow.
        self._timeout = httpx.Timeout(timeout_seconds, connect=timeout_seconds / 2)

    async def add(self, request: bytes) -> Answer:
        """Ask the log to record an entry."""
        headers = {"content-type": "application/json", "accept": "application/json"}
        try:
            status, body = await self._exchange("POST", f"{self._url}/{_ENTRIES}", request, headers)
        except (httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise self._down(error) from None
        except (TimeoutError, httpx.TimeoutException):
            return Slow(f"the log did not answer within {self._seconds:g} seconds")
        except FAILURES as error:
            raise self._down(error) from None
        if status in (httpx.codes.OK, httpx.codes.CREATED):
            return Added(body)
        if status == httpx.codes.CONFLICT:
            found = _INDEX.search(_message(body))
            return Exists(int(found[1]) if found else None)
        if status in _REFUSING:
            return Rejected(f"the log refused the entry (HTTP status {status}): {_message(body)}")
        raise Unavailable(f"the log answered with HTTP status {status}: {_message(body)}; try again later")

    async def read(self, path: str) -> bytes | None:
        """Return a file of the log, or None if there is none at this path."""
        try:
            status, body = await self._exchange("GET", f"{self._read_url}/{path}")
        except FAILURES as error:
            raise Unavailable(f"cannot read {path} of the log: {reason_of(error)}; try again later") from None
        if status == httpx.codes.NOT_FOUND:
            return None
        if status != httpx.codes.OK:
            raise Unavailable(f"cannot read {path} of the log: HTTP status {status}; check the read URL")
        return body

    async def _exchange(
        self, method: str, url: str, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        async with (
            asyncio.timeout(self._seconds),
            open_client(self._timeout) as http,
            http.stream(method, url, content=content, headers=headers) as response,
        ):
            if (body := await read_body(response, MAX_BYTES)) is None:
                raise Unavailable(f"an answer of the log has more than {MAX_BYTES:,} bytes")
            return response.status_code, body

    def _down(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"the log {server_name(self._url)} does not answer: {reason_of(error)}; try again later"
        )


def _message(body: bytes) -> str:
    """Return the message of an answer as one short line, whatever it holds."""
    try:
        found = parse(body)
    except NotCanonical:
        found = None
    message = found.get("message") if isinstance(found, dict) else None
    return one_line(message if isinstance(message, str) else body.decode(errors="replace"))
