"""One HTTP connection to a server: requests, retries, and errors as Foja's own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx

from foja.client.encoding import as_json, decode, encode
from foja.client.problems import error_of
from foja.engine.ledger.event import Event
from foja.errors import FojaError, Unavailable

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0
MAX_ERROR_BYTES = 1 << 20
# The request did not reach the server, or the server did not read it: it may be sent again in any case.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
Answer = TypeVar("Answer")
Content: TypeAlias = bytes | Callable[[], AsyncIterator[bytes]]  # a stream is made anew for each try


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask. `safe`: asking twice does what asking once does."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    content: Content | None = None
    files: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    safe: bool = True


class Transport:
    """Sends requests. What is retryable and safe is repeated until `retry_seconds` have passed."""

    def __init__(self, client: httpx.AsyncClient, retry_seconds: float) -> None:
        self._client, self._retry_seconds = client, retry_seconds

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def ask(self, method: str, path: str, **more: Any) -> Any:
        """Return the JSON of an answer."""
        return (await self.send(Request(method, path, **more))).json()

    async def act(
        self,
        method: str,
        template: str,
        *,
        answer: type[Answer],
        path: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        safe: bool = True,
    ) -> Answer:
        """Do an act of the server and return what the library returns for it."""
        address = template.format(**{name: quote(str(each), safe="") for name, each in (path or {}).items()})
        headers = {} if key is None else {"Idempotency-Key": key}
        json = body and {name: as_json(each) for name, each in body.items()}
        request = Request(method, address, params=query or {}, json=json, headers=headers, safe=safe)
        got = await self.send(request)
        found: Answer = decode(answer, got.json())
        if isinstance(found, Event) and key is not None:
            return replace(found, replayed=got.status_code == httpx.codes.OK)
        return found

    async def send(self, request: Request) -> httpx.Response:
        """Return the answer to a request, or raise one of Foja's errors."""
        clock = asyncio.get_running_loop().time
        end, pause = clock() + self._retry_seconds, FIRST_PAUSE_SECONDS
        while True:
            try:
                return await self._try(request)
            except _Failed as failed:
                asked = failed.retry_after or 0.0
                wait = max(asked, pause * random.uniform(0.5, 1.5))
                if not failed.again or clock() + wait > end:
                    raise failed.error from failed.__cause__
                await asyncio.sleep(wait)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    @asynccontextmanager
    async def stream(
        self, path: str, *, headers: Mapping[str, str] | None = None, params: Mapping[str, Any] | None = None
    ) -> AsyncIterator[httpx.Response]:
        """Yield an open answer; it ends with `Unavailable` if the connection breaks."""
        try:
            async with self._client.stream("GET", path, headers=headers, params=_given(params)) as answer:
                if answer.is_error:
                    raise error_of(answer.status_code, (await answer.aread())[:MAX_ERROR_BYTES])
                yield answer
        except httpx.HTTPError as error:
            raise _unavailable(error) from error

    async def _try(self, request: Request) -> httpx.Response:
        content = request.content() if callable(request.content) else request.content
        headers = dict(request.headers)
        if request.json is not None:
            content = encode(request.json)
            headers["Content-Type"] = "application/json"
        try:
            answer = await self._client.request(
                request.method,
                request.path,
                params=_given(request.params),
                content=content,
                files=request.files,
                headers=headers,
            )
        except httpx.HTTPError as error:
            again = request.safe or isinstance(error, _UNSENT)
            raise _Failed(_unavailable(error), again=again) from error
        if not answer.is_error:
            return answer
        found = error_of(answer.status_code, answer.content[:MAX_ERROR_BYTES])
        raise _Failed(found, again=found.retryable, retry_after=_retry_after(answer))


class _Failed(Exception):
    """A try that failed, and whether another one may help."""

    def __init__(self, error: FojaError, *, again: bool, retry_after: float | None = None) -> None:
        super().__init__()
        self.error, self.again, self.retry_after = error, again, retry_after


def new_key() -> str:
    """Return the Idempotency-Key of a request that has none."""
    return str(uuid4())


def _unavailable(error: httpx.HTTPError) -> Unavailable:
    return Unavailable(f"the server does not answer ({str(error) or type(error).__name__}); try again")


def _given(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the parameters that have a value; None for none, which leaves those of the address."""
    return {name: value for name, value in (params or {}).items() if value is not None} or None


def _retry_after(answer: httpx.Response) -> float | None:
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() and len(text) < 6 else None
