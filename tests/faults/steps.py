"""The sequencer's steps outside of itself, counted, so that any one of them can fail or be waited at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, BinaryIO, Literal, LiteralString, TypeVar

from foja.blobs.store import ObjectBackend
from foja.driver.database import Database
from foja.errors import LedgerUnavailable
from foja.sql import read_queries

Moment = Literal["and not saved", "but saved"]
Result = TypeVar("Result")
NAMES = {text: name for name, text in read_queries(files("foja.sql") / "queries").items()}


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

    async def rows(self, query: LiteralString, **values: object) -> list[tuple[Any, ...]]:
        error = LedgerUnavailable("the connection was cut by the test")
        return await self._steps.take(NAMES[query], lambda: self._inner.rows(query, **values), error)

    async def many(self, query: LiteralString, **values: object) -> list[tuple[Any, ...]]:
        error = LedgerUnavailable("the connection was cut by the test")
        return await self._steps.take(NAMES[query], lambda: self._inner.many(query, **values), error)


class SteppedPlace:
    """A place whose every read and write is a step."""

    def __init__(self, inner: ObjectBackend, steps: Steps) -> None:
        self._inner, self._steps = inner, steps

    async def read(self, key: str) -> tuple[bytes, str]:
        return await self._take(f"read {key}", lambda: self._inner.read(key))

    async def write(self, key: str, data: bytes) -> None:
        await self._take(f"write {key}", lambda: self._inner.write(key, data))

    async def create(self, key: str, data: bytes) -> str:
        return await self._take(f"create {key}", lambda: self._inner.create(key, data))

    async def replace(self, key: str, data: bytes, expected: str) -> str:
        return await self._take(f"replace {key}", lambda: self._inner.replace(key, data, expected))

    async def keep(self, source: BinaryIO, key_of: Callable[[str], str]) -> tuple[str, int]:
        return await self._take("keep", lambda: self._inner.keep(source, key_of))

    async def fetch(self, key: str, target: BinaryIO) -> str:
        return await self._take("fetch", lambda: self._inner.fetch(key, target))

    async def _take(self, name: str, step: Callable[[], Awaitable[Result]]) -> Result:
        return await self._steps.take(name, step, OSError("the store was cut off by the test"))
