"""Documents, put together for an installation: who stamps, what is built, who works."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from foja import sql
from foja.documents.authorities import Authorities, local_notice, open_authorities
from foja.documents.bundle_facts import BundleFacts
from foja.documents.bundles import Bundles
from foja.documents.model.events import DOCUMENT, Evidence
from foja.documents.model.rules import WINDOWS, Policy
from foja.documents.service import Documents
from foja.documents.stamper import Stamper
from foja.documents.workers import artifacts, executor, renewal, timestamps
from foja.documents.workers.artifacts import ArtifactWorker
from foja.documents.workers.executor import Executor
from foja.documents.workers.expiry import expire_attempts
from foja.documents.workers.rebuild import Rebuilt, rebuild
from foja.documents.workers.renewal import RenewalWorker
from foja.documents.workers.timestamps import TimestampWorker
from foja.driver.database import Database
from foja.jobs.assembly import Assembly, Shared, WorkerSpec
from foja.jobs.queue import topic
from foja.judge.trust_parser import read as read_trust
from foja.settings import Settings

MIN_CHECKPOINT_WAIT = 0.5  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAssembly(Assembly[Documents]):
    """Documents with what an installation shows of them."""

    stamper: Stamper
    bundles: Bundles
    roots: tuple[bytes, ...]

    async def rebuild(self, shared: Shared, database: Database) -> Rebuilt:
        """Rebuild by replay what is stored beside the events; `database` acts as the executor's role."""
        return await rebuild(shared.ledger, _executor(self.service, database), database)


async def assemble(shared: Shared) -> DocumentAssembly:
    """Return the documents of an installation."""
    authorities = await open_authorities(shared.settings, shared.closing)
    stamper = Stamper(authorities.asked, authorities.terms)
    bundles = _bundles(shared, authorities, stamper)
    documents = Documents(
        shared.ledger,
        shared.store,
        namespace=shared.installation_id,
        abilities={row[0] for row in await shared.database.rows(sql.query("abilities"))},
        policy=_policy(shared.settings),
        bundles=bundles,
        notify=partial(shared.notifier.touch, topic(DOCUMENT.name)),
        note=local_notice(shared.settings),
    )
    return DocumentAssembly(
        service=documents,
        workers=_workers(shared, documents, stamper, bundles),
        chores=[partial(expire_attempts, shared.sweeper, shared.notifier)],
        stamper=stamper,
        bundles=bundles,
        roots=tuple(authorities.roots),
    )


def _bundles(shared: Shared, authorities: Authorities, stamper: Stamper) -> Bundles:
    """Bundles are judged here by what this installation trusts, and carry copies of it."""
    terms = authorities.terms
    certificates = [*authorities.roots, *(each.pem for each in terms.intermediates)]
    vkey = shared.signer.verifier().vkey()
    copies = {"log.vkey": f"{vkey}\n".encode(), "tsa.pem": b"".join(certificates)}
    trust = replace(read_trust([vkey, *certificates]), crls=tuple(terms.crls))
    return Bundles(BundleFacts(shared.ledger, shared.store, copies), stamper, trust)


def _policy(settings: Settings) -> Policy:
    windows = {**WINDOWS, Evidence.TSA: timedelta(seconds=settings.tsa_window_seconds)}
    pause = timedelta(seconds=settings.protect_pause_seconds)
    return Policy(settings.protect_attempts, pause, windows=windows)


def _executor(documents: Documents, database: Database) -> Executor:
    return Executor(database, documents.abilities, documents.policy)


def _workers(shared: Shared, documents: Documents, stamper: Stamper, bundles: Bundles) -> list[WorkerSpec]:
    wait = max(shared.settings.checkpoint_seconds, MIN_CHECKPOINT_WAIT)
    stamps, builds = TimestampWorker(stamper), ArtifactWorker(bundles, shared.store, wait)
    renewals = RenewalWorker(bundles, shared.store, shared.ledger)
    return [
        WorkerSpec(
            executor.TYPE,
            executor.SOURCE,
            lambda queue: _executor(documents, queue.database).work,
            batch=256,
            wake_on=[DOCUMENT.name],
        ),
        # Two, so that authorities are asked while the answers of others are recorded.
        WorkerSpec(
            timestamps.TYPE, timestamps.SOURCE, lambda _: stamps.work, batch=timestamps.BATCH, count=2
        ),
        WorkerSpec(
            artifacts.TYPE,
            artifacts.SOURCE,
            lambda _: builds.work,
            batch=artifacts.BATCH,
            after_checkpoint=True,
        ),
        WorkerSpec(renewal.TYPE, artifacts.SOURCE, lambda _: renewals.work, batch=1),
    ]
