"""The lanes: Redis if it answers, PostgreSQL if it must, nothing written if neither can."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar
from uuid import UUID

from foja import sql
from foja.errors import Busy, Unavailable
from foja.ledger.append import Verdict, Writer
from foja.ledger.event import Draft, Event
from foja.ledger.lanes import words
from foja.ledger.lanes.redis import RedisLane, Row
from foja.observe.metrics import LANE_MOVES
from foja.sql.database import Database, OnRedis

TRIES = 20
Result = TypeVar("Result")


class Plain(Protocol):
    """Whoever writes an event that PostgreSQL numbers: a writer, or its micro-batch."""

    async def append(self, draft: Draft) -> Event: ...


class Lanes:
    """Every append and reservation of this process, on the lane its stream is on."""

    def __init__(self, database: Database, writer: Writer, plain: Plain, redis: RedisLane | None) -> None:
        self._database, self._writer, self._plain, self._redis = database, writer, plain, redis

    async def append(self, draft: Draft) -> Event:
        """Write one event."""
        redis = self._redis
        if redis is None or draft.domain != redis.domain or draft.expected is not None:
            return await self._claiming([draft.entity_id], lambda: self._plain.append(draft))
        self._writer.check(draft)
        return await _told(draft.entity_id, redis.append(draft, lambda: self._plain.append(draft)))

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write all of these events or none. PostgreSQL numbers them."""
        names = [draft.entity_id for draft in drafts]
        return await self._claiming(names, lambda: self._writer.append_many(drafts))

    async def append_each(self, drafts: Sequence[Draft]) -> list[Verdict]:
        """Write what can be written. PostgreSQL numbers it."""
        verdicts = await self._writer.append_each(drafts)
        for _ in range(TRIES):
            left = [n for n, verdict in enumerate(verdicts) if isinstance(verdict, OnRedis)]
            if not left:
                break
            await self._claim([drafts[n].entity_id for n in left])
            again = await self._writer.append_each([drafts[n] for n in left])
            for n, verdict in zip(left, again, strict=True):
                verdicts[n] = verdict
        return verdicts

    async def reserve(self, domain: str, entity_id: UUID, count: int, values: dict[str, object]) -> Row:
        """Take numbers for later: the first one, the token, the deadline."""
        redis = self._redis
        if redis is None or domain != redis.domain:
            return await self._reserve(values, claim=True)
        plain = lambda: self._reserve(values, claim=False)  # noqa: E731
        return await _told(entity_id, redis.reserve(entity_id, values, count, plain))

    async def _reserve(self, values: dict[str, Any], *, claim: bool) -> Row:
        # Not repeated on a lost answer: a second try would take other numbers, and the
        # first ones expire by themselves.
        row = await self._writer.patiently(
            lambda: self._database.row(sql.query("reserve"), **values, claim=claim), again=Busy
        )
        assert row is not None
        return row

    async def _claiming(self, names: Sequence[UUID], call: Callable[[], Awaitable[Result]]) -> Result:
        for _ in range(TRIES):
            try:
                return await call()
            except OnRedis:
                await self._claim(names)
        raise Busy("the streams went back to Redis again and again; try again")

    async def _claim(self, names: Sequence[UUID]) -> None:
        values = {"entities": list(set(names))}
        row = await self._writer.patiently(lambda: self._database.row(sql.query("claim_lanes"), **values))
        LANE_MOVES.labels("numbered").inc(row[0] if row else 0)


async def _told(entity_id: UUID, call: Awaitable[Result]) -> Result:
    """Say so in the log if nothing could number."""
    try:
        return await call
    except Unavailable as error:
        words.failed(entity_id, error)
        raise
