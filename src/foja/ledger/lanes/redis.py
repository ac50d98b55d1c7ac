"""The first lane. A number from Redis is a proposal: PostgreSQL takes it or says why not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TypeVar
from uuid import UUID

from foja.driver import encoding
from foja.driver.database import OnRedis
from foja.driver.pipeline_pool import PipelinePool
from foja.errors import Busy
from foja.ledger.event import Draft, Event
from foja.ledger.lanes import log_lines
from foja.ledger.lanes.counter import Counter, CounterLost, RedisAway
from foja.ledger.lanes.moves import Moves
from foja.ledger.lanes.state import LaneState
from foja.ledger.receipts import Reservation, ReservationRequest, draft_record, read_receipt, read_reservation
from foja.ledger.writer import Writer
from foja.metrics import ALLOCATION, FALLBACKS

MAX_TRIES = 100
Result = TypeVar("Result")
# What PostgreSQL says of a number, and the result if it took it.
Outcome = tuple[str, Result | None]
_taking = ALLOCATION.labels("redis")


class RedisLane:
    """Numbers the streams of one domain by Redis, as long as it answers."""

    def __init__(
        self, pipelines: PipelinePool, writer: Writer, counter: Counter, moves: Moves, domain: str
    ) -> None:
        self._pipelines, self._writer = pipelines, writer
        self._counter, self._moves, self.domain = counter, moves, domain

    async def append(self, draft: Draft, plain: Callable[[], Awaitable[Event]]) -> Event:
        """Write one event; `plain` does it if PostgreSQL has to number it."""
        return await self._number(
            draft.entity_id, 1, lambda seq, fence: self._record(draft, seq, fence), plain
        )

    async def reserve(
        self, wish: ReservationRequest, plain: Callable[[], Awaitable[Reservation]]
    ) -> Reservation:
        """Take numbers for later; `plain` does it if PostgreSQL has to number them."""
        return await self._number(
            wish.entity_id, wish.count, lambda seq, fence: self._keep(wish, seq, fence), plain
        )

    async def _number(
        self,
        entity_id: UUID,
        count: int,
        by_redis: Callable[[int, UUID], Awaitable[Outcome[Result]]],
        by_postgres: Callable[[], Awaitable[Result]],
    ) -> Result:
        for _ in range(MAX_TRIES):
            standing = await self._moves.standing(entity_id)
            if standing.fence is None:
                try:
                    result = await by_postgres()
                except OnRedis:
                    self._moves.forget(entity_id, standing)
                    continue
                FALLBACKS.inc()
                return result
            first = await self._take(entity_id, standing, count)
            if first is None:
                continue
            status, done = await by_redis(first, standing.fence)
            if done is not None:
                return done
            await self._react(entity_id, standing, status)
        raise Busy(f"{entity_id} moved from lane to lane without end; try again")

    async def _take(self, entity_id: UUID, standing: LaneState, count: int) -> int | None:
        """Return the first of `count` numbers, or None if the stream had to move."""
        assert standing.fence is not None
        fresh = standing.fresh(self._moves.now())
        began = perf_counter()
        try:
            if fresh and self._counter.away:
                await self._counter.connect()  # somebody else reached it just now
            first = await self._counter.take(
                entity_id, standing.fence, standing.run_id, count, standing.seed if fresh else None
            )
        except RedisAway:
            await self._moves.leave(entity_id, standing)
            return None
        except CounterLost as lost:
            await self._moves.stay(entity_id, standing, lost.reason)
            return None
        if first < 0:
            await self._moves.stay(entity_id, standing, "taken")
            return None
        _taking.observe(perf_counter() - began)
        log_lines.numbered(entity_id, first)
        return first

    async def _react(self, entity_id: UUID, standing: LaneState, status: str) -> None:
        if status == "moved":
            self._moves.forget(entity_id, standing)
        elif status == "taken":
            await self._moves.stay(entity_id, standing, "taken")

    async def _record(self, draft: Draft, seq: int, fence: UUID) -> Outcome[Event]:
        values = [draft_record(draft), encoding.bigint(seq), fence.bytes]
        # Repeated with the same number: if only the answer was lost, it is its own replay.
        receipt = read_receipt(
            await self._writer.patiently(lambda: self._pipelines.ask("lane_append", values))
        )
        status = receipt[0]
        if status in {"moved", "taken", "late"}:
            return status, None
        return status, self._writer.accept(draft, receipt)

    async def _keep(self, wish: ReservationRequest, seq: int, fence: UUID) -> Outcome[Reservation]:
        values = [*wish.values(self._writer.source), encoding.bigint(seq), fence.bytes]
        kept = read_reservation(
            await self._writer.patiently(lambda: self._pipelines.ask("lane_reserve", values), again=Busy)
        )
        return kept[0], kept if kept[0] == "reserved" else None
