"""Documents, put together for an installation: who stamps, what is built, who works."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from foja.domains.documents.authorities import local_notice, open_stamper
from foja.domains.documents.bundles import Bundles, open_bundles
from foja.domains.documents.service import Documents
from foja.domains.documents.stamper import Stamper
from foja.domains.documents.workers import artifacts, executor, timestamps
from foja.domains.documents.workers.anchor_batches import BatchWorker
from foja.domains.documents.workers.anchors import Submitter
from foja.engine import sql
from foja.engine.anchors.gatherer import Gatherer
from foja.engine.anchors.network import Network
from foja.engine.anchors.networks import open_networks
from foja.engine.anchors.proofs import AnchorProofs
from foja.engine.anchors.store import AnchorStore
from foja.engine.anchors.terms import AnchorTerms, terms_of
from foja.engine.anchors.watched import WatchedNetwork
from foja.engine.driver.database import Database
from foja.engine.embedded.tsa import LocalAuthority
from foja.engine.health.service import Probe
from foja.engine.jobs.assembly import Shared, TenantAssembly
from foja.engine.jobs.queue import Queue, topic
from foja.engine.jobs.spec import WorkerSpec
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.maintenance.loop import throttle
from foja.engine.settings import Settings
from foja.pure.models.documents.events import DOCUMENT, Evidence
from foja.pure.models.documents.rules import WINDOWS, Policy

MIN_CHECKPOINT_WAIT = 0.5  # seconds
EXPIRY_LIMIT = 100
WAKE_SECONDS, STALLED_LIMIT = 600.0, 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAssembly(TenantAssembly[Documents]):
    """Documents with what an installation shows of them."""

    stamper: Stamper
    bundles: Bundles
    networks: Mapping[str, Network]
    proofs: AnchorProofs


async def assemble(shared: Shared) -> DocumentAssembly:
    """Return the documents of an installation."""
    stamper = await open_stamper(shared.settings, shared.closing, shared.ledger.now, shared.health.report)
    opened = open_networks(shared.settings, stamper.token, stamper.terms)
    networks = {name: WatchedNetwork(network, shared.health.report) for name, network in opened.items()}
    shared.health.add(_probes(stamper, networks))
    proofs = AnchorProofs(shared.reader, networks)
    bundles = open_bundles(shared.ledger, shared.objects, stamper, proofs, shared.vkey)
    policy, note = _policy(shared.settings), local_notice(shared.settings)
    abilities = {*await shared.database.values(sql.query("abilities"))}
    notify = partial(shared.notifier.touch, topic(DOCUMENT.name))

    def documents(tenant: str) -> Documents:
        return Documents(
            shared.ledger.of(tenant),
            shared.objects,
            abilities=abilities,
            policy=policy,
            bundles=bundles.of(tenant),
            notify=notify,
            note=note,
        )

    workers = _workers(shared, policy, stamper, bundles)
    for network in networks.values():
        workers += _anchor_workers(network, terms_of(shared.settings, network.name))
    return DocumentAssembly(
        service_of=documents,
        workers=workers,
        chores=[
            partial(expire_attempts, shared.sweeper, shared.notifier),
            throttle(partial(wake_stalled, shared.sweeper, policy), WAKE_SECONDS),
        ],
        stamper=stamper,
        bundles=bundles,
        networks=networks,
        proofs=proofs,
    )


def _probes(stamper: Stamper, networks: Mapping[str, Network]) -> dict[str, Probe]:
    """Return how each authority and each network is probed: both report what came of it."""
    asked = {
        f"authority:{each.name}": Probe(
            partial(stamper.probe, each), foreign=each.name != LocalAuthority.name, reports=True
        )
        for each in stamper.authorities
    }
    return asked | {
        f"network:{name}": Probe(network.check, foreign=True, reports=True)
        for name, network in networks.items()
    }


def _policy(settings: Settings) -> Policy:
    own = {Evidence(name): attempts for name, attempts in settings.networks.items()}
    windows = {each: timedelta(seconds=attempts.window_seconds) for each, attempts in own.items()}
    return Policy(
        settings.protect_attempts,
        timedelta(seconds=settings.protect_pause_seconds),
        windows={**WINDOWS, Evidence.TSA: timedelta(seconds=settings.tsa_window_seconds), **windows},
        own_attempts={each: attempts.most for each, attempts in own.items()},
        own_pauses={each: timedelta(seconds=attempts.pause_seconds) for each, attempts in own.items()},
    )


def _anchor_workers(network: Network, terms: AnchorTerms) -> list[WorkerSpec]:
    """Return who makes, sends and follows the batches of a network."""
    name = network.name

    def store(queue: Queue) -> AnchorStore:
        return AnchorStore(queue.database, name)

    def batches(queue: Queue) -> BatchWorker:
        return BatchWorker(network, queue, terms)

    return [
        WorkerSpec(
            DOCUMENT,
            f"submit_anchor_{name}",
            lambda queue: Submitter(network, store(queue), terms).work,
            batch=terms.size,
            before_claim=lambda queue: Gatherer(store(queue), terms).close_full,
        ),
        WorkerSpec(DOCUMENT, f"broadcast_anchor_{name}", lambda queue: batches(queue).broadcast, batch=1),
        WorkerSpec(DOCUMENT, f"process_{name}_anchors", lambda queue: batches(queue).process, batch=10),
    ]


def _workers(shared: Shared, policy: Policy, stamper: Stamper, bundles: Bundles) -> list[WorkerSpec]:
    wait = max(shared.settings.checkpoint_seconds, MIN_CHECKPOINT_WAIT)
    bulk, gathering = shared.settings.tsa_batch > 1, shared.settings.anchor_batch_seconds
    builds = artifacts.ArtifactWorker(bundles, shared.objects, wait, bulk=bulk)
    renewals = artifacts.RenewalWorker(bundles, shared.objects, shared.ledger)
    return [
        WorkerSpec(
            DOCUMENT,
            executor.TYPE,
            lambda queue: executor.Executor(queue.database, policy, stamper.check, gathering).work,
            batch=256,
            wake_on=[DOCUMENT.name],
            count=2 if bulk else 1,  # without an authority to wait for, deciding was the slowest step
        ),
        WorkerSpec(
            DOCUMENT,
            timestamps.TYPE,
            lambda _: partial(timestamps.stamp_batch if bulk else timestamps.stamp_witnesses, stamper),
            batch=shared.settings.tsa_batch if bulk else 32,  # two batches of 32 keep all connections busy
            count=1 if bulk else 2,  # two: authorities are asked while the answers of others are recorded
        ),
        WorkerSpec(
            DOCUMENT,
            artifacts.BUILD,
            lambda _: builds.work,
            batch=64,
            count=2,  # one builds while the other waits for disk and database
            after_checkpoint=True,
            rests=True,  # what came later is covered by no checkpoint either
        ),
        WorkerSpec(DOCUMENT, artifacts.RENEW, lambda _: renewals.work, batch=1),
    ]


async def wake_stalled(database: Database, policy: Policy) -> int:
    """Let executors decide again where attempts are left, as after the limit was raised; return how many."""
    attempts = json.dumps({evidence.value: policy.attempts_of(evidence) for evidence in Evidence})
    return int(await database.value(sql.query("wake_stalled"), attempts=attempts, most=STALLED_LIMIT))


async def expire_attempts(database: Database, notifier: Notifier) -> int:
    """Close attempts past their deadline, and cancel their jobs; return how many."""
    closed = await database.rows(sql.query("expire_attempts"), most=EXPIRY_LIMIT)
    for tenant, document in closed:
        notifier.touch((tenant, document))
    return len(closed)
