"""Move a stream from one lane to another by compare-and-set on its fence."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

from foja.engine import metrics, sql
from foja.engine.driver.database import Database
from foja.engine.ledger.lanes import log_lines
from foja.engine.ledger.lanes.counter import Counter, CounterLost, RedisUnavailable
from foja.engine.ledger.writer import Writer

FRESH = 5.0
MAX_KNOWN = 10_000
StreamKey: TypeAlias = tuple[str, UUID]  # tenant and stream
Reason = Literal["enter", "missing", "run_id", "taken", "unavailable"]


@dataclass(frozen=True, slots=True)
class LaneState:
    """A stream's lane. Without a fence, PostgreSQL numbers it. `moved` is a local monotonic time."""

    tenant: str
    fence: UUID | None
    run_id: str | None
    seed: int
    moved: float | None

    def fresh(self, now: float) -> bool:
        """Return whether it has just moved, so that its counter may not exist yet."""
        return self.moved is not None and now - self.moved < FRESH

    def may_return(self, now: float, seconds: float) -> bool:
        """Return whether it may return to Redis."""
        return self.fence is None and (self.moved is None or now - self.moved >= seconds)


class LaneRow(NamedTuple):
    """A stream's lane as it is stored; a move also says what it did."""

    fence: UUID | None
    run_id: str | None
    next_seq: int
    age: float | None  # seconds since the last move
    moved: bool = False
    voided: int = 0


class Moves:
    """Moves the streams of one domain and caches their lanes."""

    def __init__(
        self, database: Database, writer: Writer, counter: Counter, domain: str, return_seconds: float
    ) -> None:
        self._database, self._writer, self._counter = database, writer, counter
        self._domain, self._rest = domain, return_seconds
        # The streams written last. An outdated entry costs a round trip, never a number.
        self._known: OrderedDict[StreamKey, LaneState] = OrderedDict()
        self._running: dict[StreamKey, asyncio.Task[LaneState]] = {}

    async def state(self, entity_id: UUID, tenant: str) -> LaneState:
        """Return the lane of a tenant's stream, moved to Redis if possible."""
        known = self._known.get((tenant, entity_id))
        if known is None or (known.may_return(self.now(), self._rest) and not self._counter.unavailable):
            return await self._share((tenant, entity_id), lambda: self._enter(entity_id, tenant))
        return known

    def forget(self, entity_id: UUID, seen: LaneState) -> None:
        """Drop the cached lane of a stream, unless it has changed since it was seen."""
        if self._known.get((seen.tenant, entity_id)) is seen:
            del self._known[seen.tenant, entity_id]

    async def renew(self, entity_id: UUID, seen: LaneState, reason: Reason) -> None:
        """Give the stream a new fence: the counter of this one is not reliable."""
        try:
            run_id = await self._counter.connect()
        except RedisUnavailable:
            await self.leave(entity_id, seen)
        else:
            await self._replace(entity_id, seen, run_id, reason)

    async def leave(self, entity_id: UUID, seen: LaneState) -> None:
        """Move the stream to PostgreSQL: Redis does not answer."""
        await self._replace(entity_id, seen, None, "unavailable")

    def now(self) -> float:
        """Return the time of this process's monotonic clock."""
        return asyncio.get_running_loop().time()

    async def _replace(self, entity_id: UUID, seen: LaneState, run_id: str | None, reason: Reason) -> None:
        """Move the stream, unless its lane has changed since it was seen."""
        key = seen.tenant, entity_id
        if self._known.get(key) is seen:
            await self._share(key, lambda: self._move(entity_id, seen.tenant, seen.fence, run_id, reason))

    async def _enter(self, entity_id: UUID, tenant: str) -> LaneState:
        try:
            run_id = await self._counter.ping()
        except (RedisUnavailable, CounterLost):
            state = await self._read(entity_id, tenant)
            if state.fence is None:
                log_lines.fell_back(entity_id)
            return state
        return await self._move(entity_id, tenant, None, run_id, "enter")

    async def _read(self, entity_id: UUID, tenant: str) -> LaneState:
        values = {"entity": entity_id, "domain": self._domain, "tenant": tenant}
        row = await self._writer.retry(
            lambda: self._database.of(tenant).row(sql.query("lane_state"), LaneRow, **values)
        )
        return self._cache(entity_id, tenant, row or LaneRow(None, None, 0, None))

    async def _move(
        self, entity_id: UUID, tenant: str, seen: UUID | None, run_id: str | None, reason: Reason
    ) -> LaneState:
        """Move to this run of Redis, or to PostgreSQL if `run_id` is None."""
        if run_id is None:
            log_lines.fell_back(entity_id)
        values = {
            "entity": entity_id,
            "domain": self._domain,
            "tenant": tenant,
            "source": self._writer.source,
            "seen": seen,
            "lane": "redis" if run_id else "postgres",
            "run": run_id,
            "rest": self._rest,
        }
        row = await self._writer.retry(
            lambda: self._database.of(tenant).one(sql.query("move_lane"), LaneRow, **values), stream=entity_id
        )
        if row.moved:
            metrics.LANE_MOVES.labels(reason).inc()
        if row.voided:
            self._writer.notify(tenant, entity_id)
        return self._cache(entity_id, tenant, row)

    def _cache(self, entity_id: UUID, tenant: str, row: LaneRow) -> LaneState:
        moved = None if row.age is None else self.now() - row.age
        state = LaneState(tenant, row.fence, row.run_id, row.next_seq, moved)
        self._known[tenant, entity_id] = state
        self._known.move_to_end((tenant, entity_id))
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return state

    async def _share(self, key: StreamKey, call: Callable[[], Awaitable[LaneState]]) -> LaneState:
        """Run `call` once for all concurrent callers of one stream."""
        running = self._running.get(key)
        if running is None:
            running = asyncio.ensure_future(call())
            self._running[key] = running
            running.add_done_callback(lambda task: self._done(key, task))
        return await asyncio.shield(running)

    def _done(self, key: StreamKey, task: asyncio.Task[LaneState]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # marks it as retrieved, in case all callers were cancelled
