"""The lanes: Redis if it answers, PostgreSQL if it must, nothing written if neither can."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

from foja import sql
from foja.driver.database import Database, OnRedis
from foja.driver.pipeline_pool import PipelinePool
from foja.errors import Busy, Unavailable
from foja.ledger.event import Draft, Event
from foja.ledger.lanes import log_lines
from foja.ledger.lanes.redis import RedisLane
from foja.ledger.receipts import Reservation, ReservationRequest, read_reservation
from foja.ledger.writer import AppendResult, Writer
from foja.metrics import LANE_MOVES

MAX_TRIES = 20
STATEMENTS = ("reserve", "lane_append", "lane_reserve")
Result = TypeVar("Result")


class Plain(Protocol):
    """Whoever writes an event that PostgreSQL numbers: a writer, or its micro-batch."""

    async def append(self, draft: Draft) -> Event: ...


class Lanes:
    """Every append and reservation of this process, on the lane its stream is on."""

    def __init__(
        self,
        database: Database,
        pipelines: PipelinePool,
        writer: Writer,
        plain: Plain,
        redis: RedisLane | None,
    ) -> None:
        self._database, self._pipelines, self._writer = database, pipelines, writer
        self._plain, self._redis = plain, redis

    async def append(self, draft: Draft) -> Event:
        """Write one event."""
        redis = self._redis
        if redis is None or draft.domain != redis.domain or draft.expected is not None:
            try:
                return await self._plain.append(draft)
            except OnRedis:
                return await self._claiming([draft.entity_id], lambda: self._plain.append(draft))
        self._writer.check(draft)
        return await _told(draft.entity_id, redis.append(draft, lambda: self._plain.append(draft)))

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write all of these events or none. PostgreSQL numbers them."""
        names = [draft.entity_id for draft in drafts]
        return await self._claiming(names, lambda: self._writer.append_many(drafts))

    async def append_each(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        """Write what can be written. PostgreSQL numbers it."""
        verdicts = await self._writer.append_each(drafts)
        for _ in range(MAX_TRIES):
            left = [n for n, verdict in enumerate(verdicts) if isinstance(verdict, OnRedis)]
            if not left:
                break
            await self._claim([drafts[n].entity_id for n in left])
            again = await self._writer.append_each([drafts[n] for n in left])
            for n, verdict in zip(left, again, strict=True):
                verdicts[n] = verdict
        return verdicts

    async def reserve(self, wish: ReservationRequest) -> Reservation:
        """Take numbers for later."""
        redis = self._redis
        if redis is None or wish.domain != redis.domain:
            return await self._claiming([wish.entity_id], lambda: self._reserve(wish))
        return await _told(wish.entity_id, redis.reserve(wish, lambda: self._reserve(wish)))

    async def _reserve(self, wish: ReservationRequest) -> Reservation:
        values = wish.values(self._writer.source)
        # Not repeated on a lost answer: a second try would take other numbers, and the
        # first ones expire by themselves.
        answer = await self._writer.patiently(lambda: self._pipelines.ask("reserve", values), again=Busy)
        return read_reservation(answer)

    async def _claiming(self, names: Sequence[UUID], call: Callable[[], Awaitable[Result]]) -> Result:
        for _ in range(MAX_TRIES):
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
        log_lines.failed(entity_id, error)
        raise
