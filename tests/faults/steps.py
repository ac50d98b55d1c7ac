"""The sequencer's steps outside of itself, counted, so that any one of them can fail or be waited at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any, BinaryIO, Literal, LiteralString, TypeVar

from foja.engine.blobs.entries import Listed
from foja.engine.blobs.store import ObjectBackend, Spool
from foja.engine.driver.database import Database
from foja.engine.sql import read_queries
from foja.errors import LedgerUnavailable

Moment = Literal["and not saved", "but saved"]
Result = TypeVar("Result")
NAMES = {text: name for name, text in read_queries(files("foja.engine.sql") / "queries").items()}


class Steps:
    """Names every step taken. The one numbered `at` fails, or comes after somebody else's `turn`."""

    def __init__(
        self, at: int = -1, moment: Moment | None = None, turn: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.names: list[str] = []
        self._at, self._moment, self._turn = at, moment, turn

    async def take(self, name: str, step: Callable[[], Awaitable[Result]], error: Exception) -> Result:
        """Take one step, unless it is the one that fails before it."""
        ours = len(self.names) == self._at
        self.names.append(name)
        if ours and self._turn:
            await self._turn()
        if ours and self._moment == "and not saved":
            raise error
        try:
            return await step()
        finally:
            if ours and self._moment == "but saved":
                raise error


class SteppedDatabase(Database):
    """A database whose every query is a step."""

    def __init__(self, inner: Database, steps: Steps) -> None:
        super().__init__(inner.url, inner.role, 0)
        self._inner, self._steps = inner, steps

    async def rows(self, query: LiteralString, of: type[Any] = tuple, /, **values: object) -> list[Any]:
        error = LedgerUnavailable("the connection was cut by the test")
        return await self._steps.take(NAMES[query], lambda: self._inner.rows(query, of, **values), error)

    async def made(
        self, make: Callable[[Sequence[Any]], Any], query: LiteralString, **values: object
    ) -> list[Any]:
        error = LedgerUnavailable("the connection was cut by the test")
        return await self._steps.take(NAMES[query], lambda: self._inner.made(make, query, **values), error)


@dataclass
class SteppedSpool:
    """A stream whose saving is a step."""

    inner: Spool
    take: Callable[[str, Callable[[], Awaitable[Any]]], Awaitable[Any]]

    @property
    def sha256(self) -> str:
        return self.inner.sha256

    @property
    def size(self) -> int:
        return self.inner.size

    async def save(self, key: str) -> None:
        await self.take(f"save {key}", lambda: self.inner.save(key))


class SteppedPlace:
    """A place whose every read and write is a step."""

    def __init__(self, inner: ObjectBackend, steps: Steps) -> None:
        self._inner, self._steps = inner, steps

    @property
    def is_batched(self) -> bool:
        return self._inner.is_batched

    async def space(self) -> tuple[int, int] | None:
        return await self._inner.space()

    async def read(self, key: str) -> tuple[bytes, str]:
        return await self._take(f"read {key}", lambda: self._inner.read(key))

    async def write(self, key: str, data: bytes) -> None:
        await self._take(f"write {key}", lambda: self._inner.write(key, data))

    async def write_many(self, objects: Mapping[str, bytes]) -> None:
        await self._take("write_many", lambda: self._inner.write_many(objects))

    async def create(self, key: str, data: bytes) -> str:
        return await self._take(f"create {key}", lambda: self._inner.create(key, data))

    async def replace(self, key: str, data: bytes, expected: str) -> str:
        return await self._take(f"replace {key}", lambda: self._inner.replace(key, data, expected))

    async def load(self, key: str) -> tuple[bytes, str]:
        return await self._take(f"load {key}", lambda: self._inner.load(key))

    @asynccontextmanager
    async def spool(self, source: BinaryIO) -> AsyncIterator[Spool]:
        async with AsyncExitStack() as opened:
            spooled = self._inner.spool(source)
            spool = await self._take("spool", lambda: opened.enter_async_context(spooled))
            yield SteppedSpool(spool, self._take)

    async def delete(self, keys: Collection[str]) -> None:
        await self._take("delete", lambda: self._inner.delete(keys))

    async def present(self, keys: Collection[str]) -> set[str]:
        return await self._take("present", lambda: self._inner.present(keys))

    async def exists(self, key: str) -> bool:
        return await self._take(f"exists {key}", lambda: self._inner.exists(key))

    async def forget_partial(self, before: datetime) -> None:
        await self._take("forget_partial", lambda: self._inner.forget_partial(before))

    async def list(self, prefix: str, after: str | None = None) -> AsyncIterator[Sequence[Listed]]:
        pages = self._inner.list(prefix, after)
        with suppress(StopAsyncIteration):
            while True:
                yield await self._take(f"list {prefix}", pages.__anext__)

    async def fetch(self, key: str, target: BinaryIO) -> str:
        return await self._take("fetch", lambda: self._inner.fetch(key, target))

    async def _take(self, name: str, step: Callable[[], Awaitable[Result]]) -> Result:
        return await self._steps.take(name, step, OSError("the store was cut off by the test"))
