"""The ledger, put together for an installation: pipelines, lanes, notifications, cosigners."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

from foja.engine.blobs.store import Store
from foja.engine.driver.database import LOCK_SECONDS, Database
from foja.engine.driver.pipeline import Pipeline
from foja.engine.driver.pipeline_pool import PipelinePool
from foja.engine.faults import Report, unreported
from foja.engine.ledger.cosigners.collector import open_collectors
from foja.engine.ledger.cosigners.configuration import read_cosigners, read_quorum
from foja.engine.ledger.lanes.held import BRIEF_LOCK_SECONDS
from foja.engine.ledger.lanes.lanes import STATEMENTS as LANE_STATEMENTS
from foja.engine.ledger.lanes.lanes import Lanes
from foja.engine.ledger.ledger import Ledger
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.ledger.live.pubsub import PostgresPubSub
from foja.engine.ledger.live.transient import PubSub, Transients
from foja.engine.ledger.log import Log
from foja.engine.ledger.micro_batch import MicroBatches
from foja.engine.ledger.receipts import STATEMENTS
from foja.engine.ledger.writer import Writer
from foja.engine.settings import Settings

if TYPE_CHECKING:
    from foja.engine.ledger.lanes.redis import RedisLane

Chore: TypeAlias = Callable[[], Awaitable[int]]
API: Final = "api"  # the source of what users append


class LedgerOpener:
    """Opens the parts of the ledger; `closing` closes them. Redis numbers the streams of one domain only."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        notifier: Notifier,
        closing: AsyncExitStack,
        *,
        redis_domain: str,
        guarded: Collection[str] = (),
        redis_report: Report = unreported,
    ) -> None:
        """`guarded` are the domains whose events the database checks against everything in their streams."""
        self._redis_report = redis_report
        self._settings, self._database, self._notifier = settings, database, notifier
        self._closing, self._redis_domain, self._guarded = closing, redis_domain, guarded
        self._cosigners = read_cosigners(settings)

    def log(self, reader: Database, store: Store) -> Log:
        """Return the log of the installation, which has the events of all tenants."""
        quorum = read_quorum(self._settings, self._cosigners)
        return Log(reader, store, self._notifier, quorum)

    def collectors(self, sweeper: Database, log: Log, own_key: bytes) -> list[Chore]:
        """Return one chore for each cosigner of the settings: it asks for signatures."""
        return open_collectors(self._settings, self._cosigners, sweeper, log, own_key, self._closing)

    async def open(self, log: Log, installation_id: UUID, draft_type: int, id_key: bytes) -> Ledger:
        """Return the ledger; `draft_type` is the number of that type in this database."""
        settings, notifier = self._settings, self._notifier
        writers = settings.writers + 1 if settings.micro_batch else settings.connections
        writer = Writer(
            self._pipelines(writers, *STATEMENTS),
            self._pipelines(1, *STATEMENTS, lock_seconds=BRIEF_LOCK_SECONDS),
            notifier,
            source=API,
            draft_type=draft_type,
            retry_seconds=settings.retry_seconds,
        )
        self._closing.push_async_callback(writer.held.close)
        batch = None
        if settings.micro_batch:
            batch = MicroBatches(writer, settings.writers, self._guarded)
            self._closing.push_async_callback(batch.close)
        pipelines = self._pipelines(settings.connections, *LANE_STATEMENTS)
        lanes = Lanes(
            self._database, pipelines, writer, batch or writer, await self._redis_lane(pipelines, writer)
        )
        transients = Transients(self._transports(installation_id), notifier)
        self._closing.push_async_callback(transients.close)
        return Ledger(
            self._database, notifier, transients, log, writer, lanes, settings.own_tenant, id_key=id_key
        )

    def _transports(self, installation_id: UUID) -> list[PubSub]:
        url, timeout = self._settings.redis_url, self._settings.redis_timeout_seconds
        notifications = PostgresPubSub(
            self._settings.database_url, f"foja_{API}", self._settings.answer_seconds
        )
        if not url:
            return [notifications]
        from foja.engine.ledger.live.redis_pubsub import RedisPubSub  # late: its library takes long to import

        return [RedisPubSub(url, installation_id.hex, timeout), notifications]

    async def _redis_lane(self, pipelines: PipelinePool, writer: Writer) -> RedisLane | None:
        url = self._settings.redis_url
        if not url or self._settings.sequence_lane == "postgres":
            return None
        from foja.engine.ledger.lanes.counter import Counter  # late, as above
        from foja.engine.ledger.lanes.moves import Moves
        from foja.engine.ledger.lanes.redis import RedisLane

        counter = Counter(url, self._settings.redis_timeout_seconds, self._redis_report)
        self._closing.push_async_callback(counter.close)
        await counter.open()
        pause = self._settings.lane_return_seconds
        moves = Moves(self._database, writer, counter, self._redis_domain, pause)
        return RedisLane(pipelines, writer, counter, moves, self._redis_domain)

    def _pipelines(self, most: int, *statements: str, lock_seconds: float = LOCK_SECONDS) -> PipelinePool:
        pipelines = PipelinePool(partial(self._pipeline, *statements, lock_seconds=lock_seconds), most)
        self._closing.push_async_callback(pipelines.close)
        return pipelines

    async def _pipeline(self, *statements: str, lock_seconds: float) -> Pipeline:
        """Open a pipeline for appends. The server may be another one by now, with fewer events."""
        url, role = self._settings.database_url, f"foja_{API}"
        pipeline = await Pipeline.open(
            url,
            role,
            "recognise",
            *statements,
            lock_seconds=lock_seconds,
            answer_seconds=self._settings.answer_seconds,
        )
        try:
            self._notifier.epoch = (await pipeline.ask("recognise", [])).decode()
        except BaseException:
            pipeline.drop()
            raise
        return pipeline
