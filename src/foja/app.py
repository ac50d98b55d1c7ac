"""The wiring: settings in, a working installation out. Nothing else opens anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from foja import sql
from foja.blobs.store import Store, open_store
from foja.conversations.approvals import expire_approvals
from foja.conversations.model.events import CONVERSATION
from foja.conversations.service import Conversations
from foja.core.note import Signer
from foja.documents import artifacts
from foja.documents.authorities import local_notice, open_authorities
from foja.documents.bundle_facts import BundleFacts
from foja.documents.bundles import Bundles
from foja.documents.expiry import expire_attempts
from foja.documents.intake import Document
from foja.documents.model.events import DOCUMENT, Evidence
from foja.documents.model.rules import WINDOWS, Policy
from foja.documents.service import Documents
from foja.documents.stamper import Stamper
from foja.driver.database import Database
from foja.driver.database import connect as connect_as
from foja.driver.pipeline import Pipeline
from foja.driver.pipeline_pool import PipelinePool
from foja.embedded.keys import signing_seed
from foja.embedded.servers import database, redis_url
from foja.errors import MigrationFailed, SetupFailed
from foja.jobs.admin import JobAdmin
from foja.jobs.queue import hint
from foja.jobs.sweeper import run_ticks, sweep_jobs
from foja.judge.trust_parser import read as read_trust
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
from foja.maintenance import Chore, Maintenance, side_by_side, sparingly
from foja.proofs.tsa import Terms
from foja.settings import Settings, load
from foja.sql.migrate import migrate
from foja.threads.service import Threads
from foja.workers import Rebuilt, WorkerContext, Workers

API, SWEEPER = "api", "sweeper"
SWEEP = 1.0


@dataclass(frozen=True, slots=True)
class Installation:
    """Which installation this is, and the history it is in."""

    id: UUID
    epoch: str
    draft_type: int  # what this database calls a draft


class App:
    """A running installation. Use it as an async context manager."""

    settings: Settings
    ledger: Ledger
    jobs: JobAdmin
    conversations: Conversations
    documents: Documents
    threads: Threads
    sequencer: Sequencer
    stamper: Stamper
    bundles: Bundles
    store: Store
    signer: Signer
    database: Database
    staff: Workers

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
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

    async def work(self, *, until_idle: bool = False, only: Collection[str] | None = None) -> None:
        """Do what no caller waits for; with `until_idle`, return when nothing is runnable now.

        `only` names the job types to do here, if others are done elsewhere.
        """
        workers = await self.staff.chosen(only)
        sweeps: list[Chore] = [
            partial(expire_approvals, self._sweeper, self._notifier),
            partial(expire_attempts, self._sweeper, self._notifier),
            partial(sweep_jobs, self._sweeper),
            partial(run_ticks, self._sweeper),
        ]
        chores = [sparingly(sweep, 0 if until_idle else SWEEP) for sweep in sweeps]
        waiting: list[Chore] = []
        if until_idle:
            chores += [worker.step for worker in workers if worker.type != artifacts.TYPE]
            waiting += [worker.step for worker in workers if worker.type == artifacts.TYPE]
        sequencer = Maintenance(self.sequencer, self.settings.checkpoint_seconds, chores, waiting)
        if until_idle:
            await sequencer.run(until_idle=True)
        else:
            await side_by_side(sequencer.run(), *(worker.run() for worker in workers))

    async def rebuild(self) -> Rebuilt:
        """Write what lists show of documents anew, by replay; others may write meanwhile."""
        return await self.staff.rebuild()

    @property
    def trust(self) -> list[str]:
        """This installation's own trust roots: its log's key, and the roots of its timestamps, as PEM."""
        return [self.signer.verifier().vkey(), *(root.decode() for root in self._roots)]

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
        await self._start_stamping()
        self.jobs = JobAdmin(self.database, self.settings.tenant)
        self.conversations = Conversations(self.ledger, self._protect_stream)
        self.threads = Threads(self.ledger, self.database, self.settings.tenant)
        await self._start_documents(installation)

    async def _migrate(self) -> None:
        try:
            await migrate(self.settings.database_url)
        except MigrationFailed:
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
            self._pipelines(self._carriers(), *STATEMENTS),
            notifier,
            tenant=self.settings.tenant,
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
        self.ledger = Ledger(
            self.database, notifier, self._deltas(installation, notifier), log, writer, lanes
        )

    async def _start_stamping(self) -> None:
        authorities = await open_authorities(self.settings, self._open)
        self._roots, terms = authorities.roots, authorities.terms
        self.stamper = Stamper(authorities.asked, terms)
        self.bundles = self._bundles(terms)

    def _bundles(self, terms: Terms) -> Bundles:
        """Bundles are judged here by what this installation trusts, and carry copies of it."""
        certificates = [*self._roots, *(each.pem for each in terms.intermediates)]
        vkey = self.signer.verifier().vkey()
        copies = {"log.vkey": f"{vkey}\n".encode(), "tsa.pem": b"".join(certificates)}
        trust = replace(read_trust([vkey, *certificates]), crls=tuple(terms.crls))
        return Bundles(BundleFacts(self.ledger, self.store, copies), self.stamper, trust)

    async def _start_documents(self, installation: Installation) -> None:
        abilities = {row[0] for row in await self.database.rows(sql.query("abilities"))}
        settings = self.settings
        windows = {**WINDOWS, Evidence.TSA: timedelta(seconds=settings.tsa_window_seconds)}
        pause = timedelta(seconds=settings.protect_pause_seconds)
        policy = Policy(settings.protect_attempts, pause, windows=windows)
        self.documents = Documents(
            self.ledger,
            self.store,
            namespace=installation.id,
            tenant=settings.tenant,
            abilities=abilities,
            policy=policy,
            bundles=self.bundles,
            tell=partial(self._notifier.touch, hint(DOCUMENT.name)),
            note=local_notice(settings),
        )
        tools = WorkerContext(self.ledger, self.store, self.documents, self.bundles, self.stamper)
        self.staff = Workers(settings, self._notifier, self._open, tools)

    async def _protect_stream(self, entity_id: UUID, required_evidence: Iterable[str]) -> Document:
        """Make a document of a stream of another domain, and ask for evidence of it."""
        document = await self.documents.add_transcript(entity_id)
        await self.documents.protect(document.id, required_evidence)
        return document

    def _deltas(self, installation: Installation, notifier: Notifier) -> Transients:
        deltas = Transients(self._carrier(installation), notifier, self.settings.tenant)
        self._open.push_async_callback(deltas.close)
        return deltas

    def _carrier(self, installation: Installation) -> PubSub:
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

    def _carriers(self) -> int:
        return self.settings.writers if self.settings.micro_batch else self.settings.connections

    def _pipelines(self, most: int, *statements: str) -> PipelinePool:
        pipelines = PipelinePool(partial(self._pipeline, *statements), most)
        self._open.push_async_callback(pipelines.close)
        return pipelines

    async def _pipeline(self, *statements: str) -> Pipeline:
        """Open a line to write on. The server may be another one by now, with fewer events in it."""
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


def connect(**settings: Any) -> App:
    """Return an installation to be entered: `async with foja.connect() as app`."""
    return App(load(**settings))
