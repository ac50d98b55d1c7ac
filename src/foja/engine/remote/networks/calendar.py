"""An HTTP client for calendars of OpenTimestamps: send a digest, ask later for its timestamp.

It asks the URL it is given and follows no redirect: a proof cannot send it anywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum

import httpx

from foja.engine.remote.http import FAILURES, open_client, read_body, reason_of

MAX_BYTES = 10_000  # as in the client of OpenTimestamps
_ACCEPT = {"accept": "application/vnd.opentimestamps.v1", "user-agent": "foja"}
_LATER = {408, 425, 429}


class Trouble(StrEnum):
    """Why there is no timestamp."""

    AWAY = "away"  # no connection, no answer in time, or a fault of the server: ask again
    PENDING = "pending"  # known, or not known yet: no block so far
    EXPIRED = "expired"  # the calendar says that it will never have it
    REFUSED = "refused"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class NoTimestamp:
    """A request without a timestamp, and the reason."""

    trouble: Trouble
    detail: str


@dataclass(frozen=True, slots=True)
class Calendar:
    """One calendar. What it returns is not checked here."""

    http: httpx.AsyncClient
    url: str = field(repr=False)
    timeout_seconds: float

    async def submit(self, digest: bytes) -> bytes | NoTimestamp:
        """Return its promise about a digest, or why there is none."""
        found = await self._ask("POST", "digest", digest)
        if isinstance(found, NoTimestamp) and found.trouble is Trouble.PENDING:
            return NoTimestamp(Trouble.REFUSED, "HTTP status 404: it is not a calendar")
        return found

    async def timestamp(self, commitment: bytes) -> bytes | NoTimestamp:
        """Return the timestamp of a promise, by its message, or why there is none."""
        return await self._ask("GET", f"timestamp/{commitment.hex()}")

    async def answers(self) -> NoTimestamp | None:
        """Return None if the server answers at all, else why not."""
        found = await self._ask("GET", "")
        return found if isinstance(found, NoTimestamp) and found.trouble is Trouble.AWAY else None

    async def _ask(self, method: str, path: str, content: bytes | None = None) -> bytes | NoTimestamp:
        url = f"{self.url.rstrip('/')}/{path}"
        try:
            async with (
                asyncio.timeout(self.timeout_seconds),
                self.http.stream(method, url, content=content, headers=_ACCEPT) as response,
            ):
                return _failure(response.status_code) or await _read(response)
        except TimeoutError:
            detail = f"no complete answer within {self.timeout_seconds:g} seconds"
        except FAILURES as error:
            detail = reason_of(error)
        return NoTimestamp(Trouble.AWAY, detail)


@asynccontextmanager
async def calendars(urls: Mapping[str, str], timeout_seconds: float) -> AsyncIterator[dict[str, Calendar]]:
    """Yield a client for each URL, under the same name."""
    async with open_client(timeout_seconds) as http:
        yield {name: Calendar(http, url, timeout_seconds) for name, url in urls.items()}


def _failure(status: int) -> NoTimestamp | None:
    detail = f"HTTP status {status}"
    if status == httpx.codes.OK:
        return None
    if status == httpx.codes.NOT_FOUND:
        return NoTimestamp(Trouble.PENDING, "no block yet")
    if status == httpx.codes.GONE:
        return NoTimestamp(Trouble.EXPIRED, detail)
    away = status >= httpx.codes.INTERNAL_SERVER_ERROR or status in _LATER
    return NoTimestamp(Trouble.AWAY if away else Trouble.REFUSED, detail)


async def _read(response: httpx.Response) -> bytes | NoTimestamp:
    body = await read_body(response, MAX_BYTES)
    too_large = NoTimestamp(Trouble.TOO_LARGE, f"the answer has more than {MAX_BYTES:,} bytes")
    return too_large if body is None else body
