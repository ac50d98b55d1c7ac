"""Moving a stream from one lane to another: one compare-and-set, whoever asks and however many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal
from uuid import UUID

from foja import metrics, sql
from foja.driver.database import Database
from foja.ledger.lanes import log_lines
from foja.ledger.lanes.counter import Counter, CounterLost, RedisAway
from foja.ledger.lanes.state import LaneState, LaneStates
from foja.ledger.writer import Writer

Reason = Literal["enter", "missing", "run_id", "taken", "unavailable"]


class Moves:
    """Asks for moves and remembers how the streams of one domain stand."""

    def __init__(
        self, database: Database, writer: Writer, counter: Counter, domain: str, return_seconds: float
    ) -> None:
        self._database, self._writer, self._counter = database, writer, counter
        self._domain, self._rest = domain, return_seconds
        self._known = LaneStates()
        self._asking: dict[UUID, asyncio.Task[LaneState]] = {}

    async def standing(self, entity_id: UUID) -> LaneState:
        """Return how a stream stands, brought to Redis if it may be."""
        known = self._known.find(entity_id)
        if known is None or (known.rested(self.now(), self._rest) and not self._counter.away):
            return await self._once(entity_id, lambda: self._enter(entity_id))
        return known

    def forget(self, entity_id: UUID, seen: LaneState) -> None:
        """Ask again how a stream stands: it no longer stands as it was seen."""
        if self._known.find(entity_id) is seen:
            self._known.forget(entity_id)

    async def stay(self, entity_id: UUID, seen: LaneState, reason: Reason) -> None:
        """Give the stream a fresh fence: this one's counter cannot be believed."""
        try:
            run_id = await self._counter.connect()
        except RedisAway:
            return await self.leave(entity_id, seen)
        if self._known.find(entity_id) is seen:
            await self._once(entity_id, lambda: self._move(entity_id, seen.fence, run_id, reason))
        return None

    async def leave(self, entity_id: UUID, seen: LaneState) -> None:
        """Let PostgreSQL number the stream: Redis does not answer."""
        if self._known.find(entity_id) is seen:
            await self._once(entity_id, lambda: self._move(entity_id, seen.fence, None, "unavailable"))

    def now(self) -> float:
        """Return the time on this process's own clock."""
        return asyncio.get_running_loop().time()

    async def _enter(self, entity_id: UUID) -> LaneState:
        try:
            run_id = await self._counter.ping()
        except (RedisAway, CounterLost):
            standing = await self._read(entity_id)
            if standing.fence is None:
                log_lines.fell_back(entity_id)
            return standing
        return await self._move(entity_id, None, run_id, "enter")

    async def _read(self, entity_id: UUID) -> LaneState:
        values = {"entity": entity_id, "domain": self._domain, "tenant": self._writer.tenant}
        row = await self._writer.patiently(lambda: self._database.row(sql.query("lane_state"), **values))
        return self._learn(entity_id, *row[:4]) if row else self._learn(entity_id, None, None, 0, None)

    async def _move(
        self, entity_id: UUID, seen: UUID | None, run_id: str | None, reason: Reason
    ) -> LaneState:
        """Move to this run of Redis, or to PostgreSQL if there is none."""
        if run_id is None:
            log_lines.fell_back(entity_id)
        values = {
            "entity": entity_id,
            "domain": self._domain,
            "tenant": self._writer.tenant,
            "source": self._writer.source,
            "seen": seen,
            "lane": "redis" if run_id else "postgres",
            "run": run_id,
            "rest": self._rest,
        }
        row = await self._writer.patiently(lambda: self._database.row(sql.query("move_lane"), **values))
        assert row is not None
        *found, moved, voided = row
        if moved:
            metrics.LANE_MOVES.labels(reason).inc()
            metrics.GAPS.inc(voided)
        if voided:
            self._writer.hint(entity_id)
        return self._learn(entity_id, *found)

    def _learn(
        self, entity_id: UUID, fence: UUID | None, run_id: str | None, seed: int, age: float | None
    ) -> LaneState:
        standing = LaneState(fence, run_id, seed, None if age is None else self.now() - age)
        self._known.learn(entity_id, standing)
        return standing

    async def _once(self, entity_id: UUID, call: Callable[[], Awaitable[LaneState]]) -> LaneState:
        """Let all who want something of one stream at this moment share one answer."""
        asking = self._asking.get(entity_id)
        if asking is None:
            asking = asyncio.ensure_future(call())
            self._asking[entity_id] = asking
            asking.add_done_callback(lambda task: self._done(entity_id, task))
        return await asyncio.shield(asking)

    def _done(self, entity_id: UUID, task: asyncio.Task[LaneState]) -> None:
        del self._asking[entity_id]
        if not task.cancelled():
            task.exception()  # seen, also if nobody waits for it any more
