"""Appends and reservations on the lane of their stream: Redis or PostgreSQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from foja.engine import sql
from foja.engine.driver.database import Database, OnRedis
from foja.engine.driver.pipeline_pool import PipelinePool
from foja.engine.ledger.event import Draft, Event
from foja.engine.ledger.lanes import log_lines
from foja.engine.ledger.lanes.held import AppendResult
from foja.engine.ledger.micro_batch import MicroBatches
from foja.engine.ledger.receipts import Reservation, ReservationRequest, read_reservation
from foja.engine.ledger.writer import Writer
from foja.engine.metrics import LANE_MOVES
from foja.errors import Busy, Unavailable

if TYPE_CHECKING:
    from foja.engine.ledger.lanes.redis import RedisLane

MAX_TRIES = 20
STATEMENTS = ("reserve", "lane_append", "lane_reserve")
Result = TypeVar("Result")


class Lanes:
    """All appends and reservations of this process."""

    def __init__(
        self,
        database: Database,
        pipelines: PipelinePool,
        writer: Writer,
        appender: Writer | MicroBatches,
        redis: RedisLane | None,
    ) -> None:
        self._database, self._pipelines, self._writer = database, pipelines, writer
        self._appender, self._redis = appender, redis

    async def append(self, draft: Draft) -> Event:
        """Append one event."""
        redis = self._redis
        if redis is None or draft.domain != redis.domain or draft.expected is not None:
            try:
                return await self._appender.append(draft)
            except OnRedis:
                return await self._with_claim([draft], lambda: self._appender.append(draft))
        self._writer.check(draft)
        return await _logged(draft.entity_id, redis.append(draft, lambda: self._appender.append(draft)))

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append all of these events or none. PostgreSQL numbers them."""
        return await self._with_claim(drafts, lambda: self._writer.append_many(drafts))

    async def append_each(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        """Append each event that can be appended. PostgreSQL numbers them."""
        results = await self._writer.append_each(drafts)
        for _ in range(MAX_TRIES):
            left = [n for n, result in enumerate(results) if isinstance(result, OnRedis)]
            if not left:
                break
            await self._claim([drafts[n] for n in left])
            repeated = await self._writer.append_each([drafts[n] for n in left])
            for n, result in zip(left, repeated, strict=True):
                results[n] = result
        return results

    async def reserve(self, request: ReservationRequest) -> Reservation:
        """Reserve numbers."""
        redis = self._redis
        if redis is None or request.domain != redis.domain:
            return await self._with_claim([request], lambda: self._reserve(request))
        return await _logged(request.entity_id, redis.reserve(request, lambda: self._reserve(request)))

    async def _reserve(self, request: ReservationRequest) -> Reservation:
        values = request.values(self._writer.source)
        # Not repeated after a lost answer: a second try would take other numbers, and the
        # first ones expire.
        answer = await self._writer.retry(
            lambda: self._pipelines.ask("reserve", values, request.tenant),
            again=Busy,
            stream=request.entity_id,
        )
        return read_reservation(answer)

    async def _with_claim(
        self, wanted: Sequence[Draft | ReservationRequest], call: Callable[[], Awaitable[Result]]
    ) -> Result:
        """Repeat `call` after claiming the streams for PostgreSQL, if Redis numbers one of them."""
        for _ in range(MAX_TRIES):
            try:
                return await call()
            except OnRedis:
                await self._claim(wanted)
        raise Busy("the streams returned to Redis too often; try again")

    async def _claim(self, wanted: Sequence[Draft | ReservationRequest]) -> None:
        for tenant in {each.tenant for each in wanted}:
            await self._claim_of(tenant, list({each.entity_id for each in wanted if each.tenant == tenant}))

    async def _claim_of(self, tenant: str, claimed: list[UUID]) -> None:
        moved = await self._writer.retry(
            lambda: self._database.of(tenant).value(sql.query("claim_lanes"), entities=claimed),
            stream=claimed[0] if len(claimed) == 1 else None,
        )
        LANE_MOVES.labels("numbered").inc(moved)


async def _logged(entity_id: UUID, call: Awaitable[Result]) -> Result:
    """Await `call`. Log an error if neither lane is available, once per outage."""
    try:
        result = await call
    except Unavailable as error:
        log_lines.failed(entity_id, error)
        raise
    log_lines.NUMBERS.worked()
    return result
