"""The composition root: settings in, a working installation out. Nothing else opens anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self
from uuid import UUID

from foja import sql
from foja.blobs.store import Store, open_store
from foja.conversations import assembly as conversations
from foja.conversations.model.events import CONVERSATION
from foja.conversations.service import Conversations
from foja.core.note import Signer
from foja.core.registry import Domain
from foja.documents import assembly as documents
from foja.documents.bundles import Bundles
from foja.documents.document import Document
from foja.documents.service import Documents
from foja.documents.stamper import Stamper
from foja.documents.workers.rebuild import Rebuilt
from foja.domains import load as load_domains
from foja.domains import prepare
from foja.driver.database import Database
from foja.driver.database import connect as connect_as
from foja.driver.pipeline import Pipeline
from foja.driver.pipeline_pool import PipelinePool
from foja.embedded.keys import signing_seed
from foja.embedded.servers import database, redis_url
from foja.errors import BadDomain, MigrationFailed, SetupFailed
from foja.jobs.admin import Jobs
from foja.jobs.assembly import Chore, Shared
from foja.jobs.sweeper import run_ticks, sweep_jobs
from foja.ledger.lanes.counter import Counter
from foja.ledger.lanes.lanes import STATEMENTS as LANE_STATEMENTS
from foja.ledger.lanes.lanes import Lanes
from foja.ledger.lanes.moves import Moves
from foja.ledger.lanes.redis import RedisLane
from foja.ledger.ledger import Ledger
from foja.ledger.live.notifier import Notifier
from foja.ledger.live.pubsub import FallbackPubSub, PostgresPubSub, RedisPubSub
from foja.ledger.live.transient import PubSub, Transients
from foja.ledger.log import Log
from foja.ledger.micro_batch import MicroBatch
from foja.ledger.receipts import STATEMENTS
from foja.ledger.sequencer import Sequencer
from foja.ledger.writer import Writer
from foja.maintenance import Maintenance, side_by_side, sparingly
from foja.settings import Settings
from foja.streams import Registry, Streams
from foja.threads import assembly as threads
from foja.threads.service import Threads
from foja.workers import Workers

API, SWEEPER = "api", "sweeper"
SWEEP_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Installation:
    """The id, the epoch and the type numbers of an installation."""

    id: UUID
    epoch: str
    draft_type: int  # what this database calls a draft


class App:
    """A running installation. Use it as an async context manager."""

    settings: Settings
    ledger: Ledger
    jobs: Jobs
    workers: Workers
    conversations: Conversations[Document]
    documents: Documents
    threads: Threads
    sequencer: Sequencer
    stamper: Stamper
    bundles: Bundles
    store: Store
    signer: Signer
    database: Database
    registry: Registry

    def __init__(self, settings: Settings, domains: Sequence[Domain] = ()) -> None:
        self.settings = settings
        self._domains = [*load_domains(settings.domains), *domains]
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._open.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()

    def streams(self, domain: Domain) -> Streams:
        """Return the streams of a domain of yours: open, append, follow, prove, protect."""
        return Streams(self.ledger, domain, self._protect_stream)

    async def work(self, *, until_idle: bool = False, only: Collection[str] | None = None) -> None:
        """Do what no caller waits for; with `until_idle`, return when nothing is runnable now.

        `only` names the job types to do here, if others are done elsewhere.
        """
        workers = await self.workers.open(only)
        sweeps: list[Chore] = [
            *self._chores,
            partial(sweep_jobs, self._sweeper),
            partial(run_ticks, self._sweeper),
        ]
        chores = [sparingly(sweep, 0 if until_idle else SWEEP_SECONDS) for sweep in sweeps]
        if not until_idle:
            maintenance = Maintenance(self.sequencer, self.settings.checkpoint_seconds, chores)
            await side_by_side(maintenance.run(), *(worker.run() for worker, _ in workers))
            return
        chores += [worker.step for worker, spec in workers if not spec.after_checkpoint]
        waiting: list[Chore] = [worker.step for worker, spec in workers if spec.after_checkpoint]
        maintenance = Maintenance(self.sequencer, self.settings.checkpoint_seconds, chores, waiting)
        await maintenance.run(until_idle=True)

    async def rebuild(self) -> Rebuilt:
        """Rebuild by replay what lists and guards know of documents; others may write meanwhile."""
        executor = self.workers.queue("protect-document-v2").database
        return await self._documents.rebuild(self._shared, executor)

    @property
    def trust(self) -> list[str]:
        """This installation's own trust roots: its log's key, and the roots of its timestamps, as PEM."""
        return [self.signer.verifier().vkey(), *(root.decode() for root in self._documents.roots)]

    async def _start(self) -> None:
        url = await self._open.enter_async_context(database(self.settings))
        redis = await self._open.enter_async_context(redis_url(self.settings))
        self.settings = self.settings.model_copy(update={"database_url": url, "redis_url": redis})
        await self._migrate()
        self.database = await self._pool(API, self.settings.connections)
        self._sweeper = await self._pool(SWEEPER, 4)
        installation = await self._recognise()
        self._notifier = notifier = await self._listen(installation)
        self.store = open_store(self.settings.store_url)
        self.signer = self._signer(installation)
        self.sequencer = Sequencer(self._sweeper, self.store, self.signer, notifier)
        await self._start_ledger(installation, notifier)
        self.registry = Registry(self.database)
        self.jobs = Jobs(self.database, notifier, self.settings.tenant or None, self.settings.own_tenant)
        self._open.push_async_callback(self.jobs.close)
        await self._start_domains(installation)

    async def _start_domains(self, installation: Installation) -> None:
        self._shared = shared = Shared(
            settings=self.settings,
            installation_id=installation.id,
            database=self.database,
            sweeper=self._sweeper,
            ledger=self.ledger,
            store=self.store,
            notifier=self._notifier,
            signer=self.signer,
            closing=self._open,
        )
        self._documents = await documents.assemble(shared)
        assemblies = (
            self._documents,
            conversations.assemble(shared, self._protect_stream),
            threads.assemble(shared),
        )
        self.documents, self.conversations, self.threads = (
            self._documents.service,
            assemblies[1].service,
            assemblies[2].service,
        )
        self.stamper, self.bundles = self._documents.stamper, self._documents.bundles
        self._chores = [chore for each in assemblies for chore in each.chores]
        self.workers = Workers(self.settings, self._notifier, self._open)
        self.workers.include(spec for each in assemblies for spec in each.workers)
        for domain in self._domains:
            self.workers.include_domain(domain)

    async def _migrate(self) -> None:
        try:
            await prepare(self.settings.database_url, self._domains)
        except (BadDomain, MigrationFailed):
            # A login that may not even act as its role should hear that first.
            await (await connect_as(self.settings.database_url, f"foja_{API}")).close()
            raise

    async def _pool(self, source: str, most: int) -> Database:
        database = Database(self.settings.database_url, f"foja_{source}", most)
        self._open.push_async_callback(database.close)
        await database.open()
        return database

    async def _recognise(self) -> Installation:
        await self.database.row(sql.query("recognise"))
        row = await self.database.row(sql.query("installation"))
        if row is None:
            raise SetupFailed("the database does not say which installation it is; run `foja migrate`")
        return Installation(*row)

    async def _listen(self, installation: Installation) -> Notifier:
        notifier = Notifier(self.settings.database_url, f"foja_{API}", installation.epoch)
        self._open.push_async_callback(notifier.close)
        notifier.open()
        return notifier

    async def _start_ledger(self, installation: Installation, notifier: Notifier) -> None:
        log = Log(self.database, self.store, notifier)
        writer = Writer(
            self.database,
            self._pipelines(self._writers(), *STATEMENTS),
            notifier,
            source=API,
            draft_type=installation.draft_type,
            retry_seconds=self.settings.retry_seconds,
        )
        batch = None
        if self.settings.micro_batch:
            batch = MicroBatch(writer, self.settings.writers)
            self._open.push_async_callback(batch.close)
        pipelines = self._pipelines(self.settings.connections, *LANE_STATEMENTS)
        lanes = Lanes(
            self.database, pipelines, writer, batch or writer, await self._redis_lane(pipelines, writer)
        )
        transients, tenant = self._transients(installation, notifier), self.settings.own_tenant
        self.ledger = Ledger(self.database, notifier, transients, log, writer, lanes, tenant)

    async def _protect_stream(self, entity_id: UUID, required_evidence: Iterable[str]) -> Document:
        """Add the sealed events of a stream as a document and request evidence of it."""
        document = await self.documents.add_transcript(entity_id)
        await self.documents.protect(document.id, required_evidence)
        return document

    def _transients(self, installation: Installation, notifier: Notifier) -> Transients:
        transients = Transients(self._pubsub(installation), notifier, self.settings.own_tenant)
        self._open.push_async_callback(transients.close)
        return transients

    def _pubsub(self, installation: Installation) -> PubSub:
        url, timeout = self.settings.redis_url, self.settings.redis_timeout_seconds
        notices = PostgresPubSub(self.settings.database_url, f"foja_{API}")
        return FallbackPubSub(RedisPubSub(url, installation.id.hex, timeout), notices) if url else notices

    async def _redis_lane(self, pipelines: PipelinePool, writer: Writer) -> RedisLane | None:
        url = self.settings.redis_url
        if not url or self.settings.sequence_lane == "postgres":
            return None
        counter = Counter(url, self.settings.redis_timeout_seconds)
        self._open.push_async_callback(counter.close)
        await counter.open()
        moves = Moves(self.database, writer, counter, CONVERSATION.name, self.settings.lane_return_seconds)
        return RedisLane(pipelines, writer, counter, moves, CONVERSATION.name)

    def _writers(self) -> int:
        return self.settings.writers if self.settings.micro_batch else self.settings.connections

    def _pipelines(self, most: int, *statements: str) -> PipelinePool:
        pipelines = PipelinePool(partial(self._pipeline, *statements), most)
        self._open.push_async_callback(pipelines.close)
        return pipelines

    async def _pipeline(self, *statements: str) -> Pipeline:
        """Open a pipeline for appends. The server may be another one by now, with fewer events."""
        pipeline = await Pipeline.open(self.settings.database_url, f"foja_{API}", "recognise", *statements)
        try:
            self._notifier.epoch = (await pipeline.ask("recognise", [])).decode()
        except BaseException:
            pipeline.drop()
            raise
        return pipeline

    def _signer(self, installation: Installation) -> Signer:
        name = self.settings.log_name or f"foja.local/{installation.id.hex[:12]}"
        return Signer(name, signing_seed(self.settings.home / "keys" / "log.key"))
