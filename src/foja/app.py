"""The composition root: settings in, a working installation out. Nothing else opens anything."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count
from typing import Self
from uuid import UUID

from foja.domains.access import assembly as access
from foja.domains.alerts.assembly import open_alerts
from foja.domains.alerts.service import Alerting
from foja.domains.conversations import assembly as conversations
from foja.domains.documents import assembly as documents
from foja.domains.documents.document import Document
from foja.domains.documents.workers.executor import SOURCE as EXECUTOR
from foja.domains.documents.workers.executor import Executor
from foja.domains.images import assembly as images
from foja.domains.registration import OWN, prepare, unique
from foja.domains.registration import load as load_domains
from foja.domains.streams import Registry
from foja.domains.system import assembly as system
from foja.domains.system.keys import KeyRecorder
from foja.domains.system.orphans.service import Orphans, open_orphans
from foja.domains.threads import assembly as threads
from foja.domains.webhooks import assembly as webhooks
from foja.engine import sql
from foja.engine.anchors.admin import Anchors
from foja.engine.blobs.objects import Objects
from foja.engine.blobs.store import READ, WRITE, Store, open_store
from foja.engine.blobs.uploads import PartialUploads
from foja.engine.driver.connection import is_recovering
from foja.engine.driver.database import Database, connect
from foja.engine.embedded.frozen import frozen_postgres
from foja.engine.embedded.servers import database, redis_url
from foja.engine.health.service import LOG, Health, Probe
from foja.engine.identity import check_home, check_store, make_signer, read_signer
from foja.engine.jobs.admin import Jobs
from foja.engine.jobs.announcement import find_unhandled
from foja.engine.jobs.assembly import Chore, Shared
from foja.engine.jobs.spec import WorkerSpec
from foja.engine.jobs.sweeper import correct_times, run_ticks, sweep_jobs
from foja.engine.jobs.worker import Worker
from foja.engine.ledger.assembly import API, LedgerOpener
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.ledger.sequencer import Sequencer
from foja.engine.ledger.stream import Protect
from foja.engine.maintenance.lease import MaintenanceLease
from foja.engine.maintenance.loop import Maintenance, side_by_side, throttle
from foja.engine.observe.metrics.assembly import open_scrape
from foja.engine.observe.metrics.scrape import Scrape
from foja.engine.observe.readiness import SCHEMA, Readiness
from foja.engine.private import check_finished
from foja.engine.settings import Settings
from foja.engine.workers import Workers, open_or_wait
from foja.errors import BadDomain, LedgerUnavailable, MigrationFailed, SetupFailed
from foja.pure.core.fields import check_tenant
from foja.pure.core.note import Signer
from foja.pure.core.registry import Domain
from foja.pure.models.conversations.events import CONVERSATION
from foja.pure.models.system.events import HYGIENE
from foja.tenant import TenantApp, TenantServices

READER, OPERATOR, SWEEPER = "reader", "operator", "sweeper"
SWEEP_SECONDS = 1.0
REDIS, REDIS_SECONDS = "redis", 5.0
MAX_TENANTS = 1_024  # whose services are kept
RECOVERY_PAUSE_SECONDS = 0.5
MAX_RECOVERY_SECONDS = 600.0  # for the log of a large database after a crash
log = logging.getLogger("foja.app")
MAX_STARTS = 3  # while the embedded server is killed again and again


@dataclass(frozen=True, slots=True)
class Installation:
    """The id, the epoch and the type numbers of an installation."""

    id: UUID
    epoch: str
    draft_type: int  # what this database calls a draft


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How much was looked at, and what of it differed from the events or waited for a job that was gone."""

    documents: int
    mended: int  # their entries in lists
    guards: int = 0  # documents with their attempts
    galleries: int = 0
    mended_galleries: int = 0
    deliveries: int = 0  # of webhooks: those that got a job


class App(TenantApp):
    """A running installation, and what its own tenant can do. Use it as an async context manager."""

    workers: Workers
    signing_keys: KeyRecorder
    sequencer: Sequencer
    anchors: Anchors
    store: Store
    objects: Objects
    orphans: Orphans
    uploads: PartialUploads
    database: Database
    reader: Database  # reads for all tenants, and writes nothing
    operator: Database  # does what operators do, and records what this process stored
    sweeper: (
        Database  # seals, numbers, signs and ends: the work of maintenance, so it is not opened at the start
    )
    metrics: Scrape
    alerts: Alerting
    readiness: Readiness
    health: Health

    def __init__(
        self,
        settings: Settings,
        domains: Sequence[Domain] = (),
        *,
        any_log_key: bool = False,
        restoring: bool = False,
    ) -> None:
        """Take the settings. `any_log_key` starts although another key signed the log, to restart it.

        `restoring` starts although a restore did not end, to end it.
        """
        self.settings, self._any_log_key, self._restoring = settings, any_log_key, restoring
        self._domains = unique([*load_domains(settings.domains), *unique(domains)])
        self._open = AsyncExitStack()
        self._tenants = lru_cache(MAX_TENANTS)(self._open_tenant)
        self._watching = asyncio.Lock()

    async def __aenter__(self) -> Self:
        given = self.settings
        for tries in count(1):
            try:
                await self._start()
                return self
            except BaseException as error:
                await self._open.aclose()
                self.settings = given
                # The embedded server has just run: if it is gone, it is started again.
                if given.database_url or not isinstance(error, LedgerUnavailable) or tries == MAX_STARTS:
                    raise
        raise AssertionError

    async def __aexit__(self, *exception: object) -> None:
        await self._open.aclose()

    def tenant(self, name: str) -> TenantApp:
        """Return the same services for another tenant, on the same connections."""
        return self._tenants(check_tenant(name))

    async def work(self, *, until_idle: bool = False, only: Collection[str] | None = None) -> None:
        """Do what no caller waits for; with `until_idle`, return when nothing is runnable now.

        `only` names the job types to do here, if others are done elsewhere.
        """
        await open_or_wait(self.sweeper)
        workers = await self.workers.open(only)
        announcement = self.workers.announcement(self.sweeper, {spec.type for _, spec in workers})
        async with announcement.kept():
            if not until_idle:
                await self._work_on(workers)
                return
            await self._work_until_idle(workers)
            if only is None:
                await announcement.warn()
        await self.health.write(everything=True)

    async def watch(self) -> None:
        """Write and probe the health of every part, and evaluate the alerts, for ever."""
        async with self._watching:
            await side_by_side(self.health.run(), self.alerts.run())

    async def publish(self) -> None:
        """Seal, number, sign and publish what is recorded so far. No job is done."""
        await self.sweeper.open()
        await Maintenance(self.sequencer, self.settings.checkpoint_seconds).run(until_idle=True)

    async def rebuild(self) -> Rebuilt:
        """Write again what follows from events, and queue jobs that are gone, of all tenants.

        Others may write meanwhile.
        """
        database = self.workers.queue(EXECUTOR).database.patient()
        executor = Executor(database, self.documents.policy, self.stamper.check)
        tenants = [self.tenant(name) for (name,) in await self.reader.rows(sql.query("tenants"))]
        documents = [await executor.rebuild_all(each.ledger) for each in tenants]
        galleries = [await each.images.rebuild() for each in tenants]
        await self.sweeper.open()
        return Rebuilt(
            documents=sum(each.documents for each in documents),
            mended=sum(each.mended for each in documents),
            guards=sum(each.guards for each in documents),
            galleries=sum(each.products for each in galleries),
            mended_galleries=sum(each.mended for each in galleries),
            deliveries=await self.sweeper.value(sql.query("queue_lost_deliveries")),
        )

    async def _work_on(self, workers: Sequence[tuple[Worker, WorkerSpec]]) -> None:
        maintenance = Maintenance(
            self.sequencer,
            self.settings.checkpoint_seconds,
            [throttle(chore, SWEEP_SECONDS) for chore in self._chores],
            beside=self._collectors,
            lease=MaintenanceLease(self.sweeper),
            report=partial(self.health.report, LOG),
        )
        await side_by_side(maintenance.run(), self.watch(), *(worker.run() for worker, _ in workers))

    async def _work_until_idle(self, workers: Sequence[tuple[Worker, WorkerSpec]]) -> None:
        chores: list[Chore] = [throttle(chore, 0) for chore in self._chores]
        chores += [worker.step for worker, spec in workers if not spec.after_checkpoint]
        waiting: list[Chore] = [worker.step for worker, spec in workers if spec.after_checkpoint]
        maintenance = Maintenance(
            self.sequencer,
            self.settings.checkpoint_seconds,
            chores,
            waiting,
            self._collectors,
            report=partial(self.health.report, LOG),
        )
        await maintenance.run(until_idle=True)

    async def _start(self) -> None:
        if not self._restoring:
            check_finished(self.settings.home)
        url = await self._open.enter_async_context(database(self.settings))
        redis = await self._open.enter_async_context(redis_url(self.settings))
        self.settings = self.settings.model_copy(update={"database_url": url, "redis_url": redis})
        await self._migrate()
        installation = await self._connect()
        await self._open_store(installation)
        await self._open_ledger(installation)
        self.registry = Registry(self.database)
        self.metrics = open_scrape(self.settings, self.reader, self.operator, self.health, self.store)
        self.readiness = Readiness(self.reader, self.store, self.health)
        self._name_parts()
        tenant, own_tenant = self.settings.tenant or None, self.settings.own_tenant
        self.jobs = Jobs(self.database, self.operator, self._notifier, tenant, own_tenant)
        self._open.push_async_callback(self.jobs.close)
        self.access = access.assemble(self.settings, self._notifier, installation.id, self._open)
        await self._start_domains(installation)

    async def _connect(self) -> Installation:
        """Open a pool for each role that every process has, and what listens and watches."""
        self.database = await self._pool(API, self.settings.connections)
        self.operator = await self._pool(OPERATOR, 4)
        self.reader = await self._pool(READER, 4)
        self.sweeper = self._pool_of(SWEEPER, 4)
        installation = await self._recognise()
        check_home(self.settings, installation.id)
        self._notifier = Notifier(
            self.settings.database_url,
            f"foja_{API}",
            installation.epoch,
            answer_seconds=self.settings.answer_seconds,
        )
        self._open.push_async_callback(self._notifier.close)
        self._notifier.open()
        self.health = Health(
            self.database,
            self.reader,
            partial(find_unhandled, self.operator),
            seconds=self.settings.health_seconds,
            remote_seconds=self.settings.health_remote_seconds,
            frozen=partial(frozen_postgres, self.settings.home),
        )
        self._open.push_async_callback(self.health.close)
        return installation

    async def _open_store(self, installation: Installation) -> None:
        url, identity = self.settings.store_url, str(installation.id)
        self.store = open_store(url, self.health.report, identity=identity)
        was_used = await self.database.row(sql.query("newest_note"))
        await check_store(self.store if was_used else open_store(url), self.settings, installation.id)
        self.objects = Objects(self.store, self.database, self.operator, self.settings.own_tenant)
        self.uploads = PartialUploads(self.settings.home / "uploads")

    async def _open_ledger(self, installation: Installation) -> None:
        self.signer = await self._read_signer(installation)
        key = self.signer.verifier().public_key
        await self.operator.row(sql.query("name_log"), name=self.signer.name, key=key)
        self.sequencer = Sequencer(self.sweeper, self.store, self.signer, self._notifier)
        opener = LedgerOpener(
            self.settings,
            self.database,
            self._notifier,
            self._open,
            redis_domain=CONVERSATION.name,
            guarded=[domain.name for domain in OWN if domain.head_only],
            redis_report=partial(self.health.report, REDIS),
        )
        log = opener.log(self.reader, self.store)
        self._collectors = opener.collectors(self.sweeper, log, key)
        [(id_key,)] = await self.operator.rows(sql.query("id_key"))
        self.ledger = await opener.open(log, installation.id, installation.draft_type, id_key)

    async def _start_domains(self, installation: Installation) -> None:
        shared = Shared(
            settings=self.settings,
            installation_id=installation.id,
            database=self.database,
            reader=self.reader,
            operator=self.operator,
            sweeper=self.sweeper,
            ledger=self.ledger,
            objects=self.objects,
            notifier=self._notifier,
            vkey=self.signer.verifier().vkey(),
            closing=self._open,
            health=self.health,
        )
        document = await documents.assemble(shared)
        conversation = conversations.assemble(shared, self._protect_of)
        image = await images.assemble(shared, self._protect_of)
        thread = threads.assemble(shared)
        own = system.assemble(shared, document.proofs)
        webhook = webhooks.assemble(shared)
        self.system, self.signing_keys = own.service, own.keys
        self.stamper, self.bundles = document.stamper, document.bundles
        self._services = TenantServices(
            document.service_of,
            conversation.service_of,
            image.service_of,
            thread.service_of,
            webhook.service_of,
        )
        self._services.give(self, self.settings.own_tenant)
        self.anchors = Anchors(self.operator, document.networks, document.proofs, self.settings)
        self.alerts = open_alerts(
            self.settings, self.operator, self.metrics, document.networks, installation.id, self.health
        )
        self._chores = [*document.chores, *conversation.chores, *image.chores, *thread.chores]
        self._chores += [*own.chores, *webhook.chores, self.uploads.sweep]
        sweeps = (sweep_jobs, correct_times, run_ticks)
        self._chores += [partial(sweep, self.sweeper) for sweep in sweeps]
        specs = [*document.workers, *conversation.workers, *image.workers, *thread.workers, *own.workers]
        specs += webhook.workers
        self.health.add_jobs(spec.type for spec in specs)
        self.workers = Workers(
            self.settings, self._notifier, self._open, specs, self._domains, self.health.report
        )
        self.orphans = open_orphans(self.settings, self.store, self.workers.queue(HYGIENE).database.patient())

    def _name_parts(self) -> None:
        """Name the parts that no domain brings, with how each is probed."""
        self.health.add(
            {
                SCHEMA: Probe(self.readiness.check_schema, reports=True),
                LOG: Probe(),
                READ: Probe(self.readiness.check_store, reports=True),
                WRITE: Probe(self.store.try_write, reports=True),
            }
        )
        if self.settings.redis_url:
            from foja.engine.remote.redis import (
                redis_version,  # its library takes a fifth of the time of a start
            )

            ask = partial(redis_version, self.settings.redis_url, seconds=REDIS_SECONDS)
            self.health.add({REDIS: Probe(ask)})

    def _open_tenant(self, name: str) -> TenantApp:
        other = TenantApp()
        other.settings = self.settings.model_copy(update={"tenant": name})
        other.ledger, other.jobs, other.bundles = (
            self.ledger.of(name),
            self.jobs.of(name),
            self.bundles.of(name),
        )
        other.stamper, other.signer, other.registry = self.stamper, self.signer, self.registry
        other.access, other.system = self.access, self.system
        self._services.give(other, name)
        return other

    def _protect_of(self, tenant: str) -> Protect[Document]:
        """Return what makes a document of a tenant's stream, which is asked for only then."""
        return lambda entity_id, evidence, actor: self.tenant(tenant).protect_stream(
            entity_id, evidence, actor
        )

    async def _migrate(self) -> None:
        url, waited = self.settings.database_url, 0.0
        while True:
            try:
                await prepare(url, self._domains)
                return
            except (BadDomain, MigrationFailed):
                if waited > MAX_RECOVERY_SECONDS or not await is_recovering(url):
                    # A login that may not even act as its role should hear that first.
                    await (await connect(url, f"foja_{API}")).close()
                    raise
            if not waited:
                log.warning(
                    "the database starts or recovers after a crash; waiting until it accepts connections"
                )
            await asyncio.sleep(RECOVERY_PAUSE_SECONDS)
            waited += RECOVERY_PAUSE_SECONDS

    async def _pool(self, role: str, most: int) -> Database:
        database = self._pool_of(role, most)
        await database.open()
        return database

    def _pool_of(self, role: str, most: int) -> Database:
        url, limit = self.settings.database_url, self.settings.answer_seconds
        database = Database(url, f"foja_{role}", most, limit)
        self._open.push_async_callback(database.close)
        return database

    async def _recognise(self) -> Installation:
        await self.database.row(sql.query("recognise"))
        row = await self.database.row(sql.query("installation"))
        if row is None:
            raise SetupFailed("the database does not say which installation it is; run `foja migrate`")
        return Installation(*row)

    async def _read_signer(self, installation: Installation) -> Signer:
        if self._any_log_key:
            return make_signer(self.settings, installation.id)
        return await read_signer(self.settings, installation.id, self.database)
