"""The Redis lane. A number from Redis is a proposal: PostgreSQL accepts it or returns why not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TypeVar
from uuid import UUID

from foja.engine.driver import encoding
from foja.engine.driver.database import OnRedis
from foja.engine.driver.pipeline_pool import PipelinePool
from foja.engine.ledger.event import MAX_SEQ, Draft, Event
from foja.engine.ledger.lanes import log_lines
from foja.engine.ledger.lanes.counter import Counter, CounterLost, RedisUnavailable
from foja.engine.ledger.lanes.moves import LaneState, Moves
from foja.engine.ledger.receipts import (
    Reservation,
    ReservationRequest,
    draft_record,
    read_receipt,
    read_reservation,
)
from foja.engine.ledger.writer import Writer
from foja.engine.metrics import ALLOCATION, FALLBACKS
from foja.errors import Busy

MAX_TRIES = 100
Result = TypeVar("Result")
# The status that PostgreSQL returns for a number, and the result if it accepted the number.
Outcome = tuple[str, Result | None]
_allocation = ALLOCATION.labels("redis")


class RedisLane:
    """Numbers the streams of one domain with Redis, while it answers."""

    def __init__(
        self, pipelines: PipelinePool, writer: Writer, counter: Counter, moves: Moves, domain: str
    ) -> None:
        self._pipelines, self._writer = pipelines, writer
        self._counter, self._moves, self.domain = counter, moves, domain

    async def append(self, draft: Draft, fallback: Callable[[], Awaitable[Event]]) -> Event:
        """Append one event. Call `fallback` if PostgreSQL has to number it."""
        return await self._number(
            draft.entity_id, draft.tenant, 1, lambda seq, fence: self._record(draft, seq, fence), fallback
        )

    async def reserve(
        self, request: ReservationRequest, fallback: Callable[[], Awaitable[Reservation]]
    ) -> Reservation:
        """Reserve numbers. Call `fallback` if PostgreSQL has to give them."""
        return await self._number(
            request.entity_id,
            request.tenant,
            request.count,
            lambda seq, fence: self._reserve(request, seq, fence),
            fallback,
        )

    async def _number(
        self,
        entity_id: UUID,
        tenant: str,
        count: int,
        by_redis: Callable[[int, UUID], Awaitable[Outcome[Result]]],
        by_postgres: Callable[[], Awaitable[Result]],
    ) -> Result:
        for _ in range(MAX_TRIES):
            state = await self._moves.state(entity_id, tenant)
            if state.fence is None:
                try:
                    result = await by_postgres()
                except OnRedis:
                    self._moves.forget(entity_id, state)
                    continue
                FALLBACKS.inc()
                return result
            first = await self._take(entity_id, state, count)
            if first is None:
                continue
            status, recorded = await by_redis(first, state.fence)
            if recorded is not None:
                return recorded
            if status == "moved":
                self._moves.forget(entity_id, state)
            elif status == "taken":
                await self._moves.renew(entity_id, state, "taken")
        raise Busy(f"stream {entity_id} changed its lane too often; try again")

    async def _take(self, entity_id: UUID, state: LaneState, count: int) -> int | None:
        """Return the first of `count` numbers, or None if the stream had to change its lane."""
        assert state.fence is not None
        fresh = state.fresh(self._moves.now())
        began = perf_counter()
        try:
            if fresh and self._counter.unavailable:
                await self._counter.connect()  # another process has just reached it
            first = await self._counter.take(
                entity_id, state.fence, state.run_id, count, state.seed if fresh else None
            )
        except RedisUnavailable:
            await self._moves.leave(entity_id, state)
            return None
        except CounterLost as lost:
            await self._moves.renew(entity_id, state, lost.reason)
            return None
        if not 0 <= first < MAX_SEQ - count:
            await self._moves.renew(entity_id, state, "taken")
            return None
        _allocation.observe(perf_counter() - began)
        log_lines.numbered(entity_id, first)
        return first

    async def _record(self, draft: Draft, seq: int, fence: UUID) -> Outcome[Event]:
        values = [draft_record(draft), encoding.bigint(seq), fence.bytes]
        # Repeated with the same number: if only the answer was lost, the repetition is a replay.
        receipt = read_receipt(
            await self._writer.retry(
                lambda: self._pipelines.ask("lane_append", values, draft.tenant), stream=draft.entity_id
            )
        )
        status = receipt[0]
        if status in {"moved", "taken", "late"}:
            return status, None
        return status, self._writer.accept(draft, receipt)

    async def _reserve(self, request: ReservationRequest, seq: int, fence: UUID) -> Outcome[Reservation]:
        values = [*request.values(self._writer.source), encoding.bigint(seq), fence.bytes]
        reservation = read_reservation(
            await self._writer.retry(
                lambda: self._pipelines.ask("lane_reserve", values, request.tenant),
                again=Busy,
                stream=request.entity_id,
            )
        )
        return reservation[0], reservation if reservation[0] == "reserved" else None
