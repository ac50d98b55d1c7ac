"""Digests to `anchor.submitted` on all networks, one confirmation to all documents, and the cost of each."""

from __future__ import annotations

import asyncio
import gc
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from statistics import median

from opentimestamps.core.timestamp import Timestamp, make_merkle_tree

import foja
from bench.contenders.authorities import RunningAuthority
from bench.contenders.authorities import foja as serve
from bench.contenders.connections import execute, fetch
from bench.contenders.foja_ledger import NOTE, Foja
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, at_most, spread
from bench.servers.networks import POLYGON, REKOR, Networks, running_networks
from bench.workloads.anchor_costs import FEW_SIZES, SIZES, cost_table, measure_costs, size_targets
from bench.workloads.protect import (
    CALLERS,
    POLL,
    POLLS,
    STAMPED,
    installation_settings,
    running_workers,
    seconds_to_protect,
)
from foja.app import App
from foja.domains.documents.workers.anchor_batches import STEP, BatchWorker
from foja.engine.anchors.batch import SALT_BYTES, hash_leaves, split, tree_of
from foja.engine.anchors.terms import terms_of

MAX_TIME, MAX_TELLING, MAX_TREE = 2.0, 3.0, 1.0
WARM_UP = 64
FULL_BATCH = 10_000
WAIT_SECONDS = 900  # that a digest waits for others: a batch is closed when it is full, or flushed
MEASURED_SECONDS = 300  # at most, for one measurement
TREE_ROUNDS = 5


@dataclass
class Figures:
    """Seconds of every round."""

    stamped: list[float] = field(default_factory=list)
    submitted: list[float] = field(default_factory=list)
    confirmed: list[float] = field(default_factory=list)
    appended: list[float] = field(default_factory=list)
    our_trees: list[float] = field(default_factory=list)
    their_trees: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Setting:
    """What every installation of this group is opened with."""

    bench: Bench
    authority: RunningAuthority
    networks: Networks
    many: int


async def run(bench: Bench) -> Outcome:
    """Measure in rounds; then build trees, and batches of several sizes."""
    figures, many = Figures(), bench.scale.protected[-1]
    folder = bench.server.folder / f"anchors-{secrets.token_hex(4)}"
    folder.mkdir()
    with serve(folder) as authority, running_networks(folder) as networks:
        setting = Setting(bench, authority, networks, many)
        for turn in range(min(bench.scale.rounds, 3)):
            bench.show_status(f"anchors · round {turn + 1}")
            await _round(setting, figures)
        bench.show_status("anchors · trees and costs")
        _time_trees(figures, many)
        sizes = SIZES if many >= FULL_BATCH else FEW_SIZES
        costs = await measure_costs(bench, authority, networks, sizes)
    return Outcome(
        [_table(figures, networks, many), cost_table(costs)],
        [*_targets(figures, networks, many), *size_targets(costs)],
        {"seconds": vars(figures), "proof_bytes": {f"{c.network} {c.size}": c.proof_bytes for c in costs}},
        networks.remarks,
    )


async def _round(setting: Setting, figures: Figures) -> None:
    """Stamp and anchor as many digests, in random order, then append as many events of that size."""
    size = 0

    async def stamp() -> None:
        figures.stamped.append(
            await seconds_to_protect(setting.bench, setting.authority, STAMPED, setting.many)
        )

    async def anchor() -> None:
        nonlocal size
        size = await _anchor(setting, figures)

    for turn in random.sample([stamp, anchor], 2):
        await turn()
    if size:
        figures.appended.append(await _append(setting, size))


async def _anchor(setting: Setting, figures: Figures) -> int:
    """Anchor digests on all networks; return the size of a confirmation's payload, or 0 without a chain."""
    networks, many = setting.networks, setting.many
    with setting.bench.server.create_database() as database:
        settings = installation_settings(database, setting.authority) | networks.settings
        settings |= {"anchor_batch_size": many, "anchor_batch_seconds": WAIT_SECONDS}
        settings["checkpoint_anchor_seconds"] = 0  # a checkpoint would take a place in the batch
        async with foja.connect(**settings) as app:
            workers = (*STAMPED.workers, *(f"submit_anchor_{name}" for name in networks.names))
            for name in networks.names:
                if missing := (await app.anchors.enable(name)).missing:
                    raise RuntimeError(f"{name} cannot be used: {missing}")
            with running_workers(workers, settings):
                await _submit(app, networks.names, min(WARM_UP, many), flush=True)
                await _send(app, networks)
                await _confirm(app, networks, database.url)
                await _until_a_period_has(MEASURED_SECONDS)
                setting.bench.server.checkpoint()
                gc.collect()
                began = time.perf_counter()
                await _submit(app, networks.names, many)
                figures.submitted.append(time.perf_counter() - began)
            await _send(app, networks, whole=True)
            if not networks.chain:
                return 0
            figures.confirmed.append(await _confirm(app, networks, database.url))
            [(count, size)] = await fetch(database.url, "confirmation_size", network=POLYGON)
            if count != many + min(WARM_UP, many):
                raise RuntimeError(f"{count} documents are confirmed, not {many} and those of the warm-up")
            return int(size) // int(count)


async def _submit(app: App, names: Sequence[str], count: int, *, flush: bool = False) -> None:
    """Add digests, request every evidence and wait until all of them are in a batch of each network."""
    numbers, evidence = iter(range(count)), ["tsa", *names]

    async def add() -> None:
        for _ in numbers:
            document = await app.documents.add_digest(sha256(secrets.token_bytes(16)).hexdigest())
            await app.documents.protect(document.id, evidence, witness_hash=document.sha256)

    async def submitted() -> int:
        rows = await fetch(app.settings.database_url, "count_submitted", networks=list(names))
        return int(rows[0][0])

    wanted = await submitted() + count * len(names)
    await asyncio.gather(*(add() for _ in range(CALLERS)))
    while await submitted() < wanted:
        await asyncio.sleep(max(POLL, count / POLLS))
        if flush:  # a full batch is closed without being told to
            for name in names:
                if await _waiting(app, name):
                    await app.anchors.flush(name)


async def _until_a_period_has(seconds: float) -> None:
    """Wait until so many seconds are left before batches are closed, full or not."""
    left = WAIT_SECONDS - time.time() % WAIT_SECONDS
    if left < seconds:
        await asyncio.sleep(left + 1)


async def _waiting(app: App, name: str) -> int:
    return next(each.waiting for each in await app.anchors.overview() if each.network == name)


async def _send(app: App, networks: Networks, *, whole: bool = False) -> None:
    """Send what was submitted; raise unless it is one request for each batch and counterparty.

    With `whole`, raise unless there is one batch for each network.
    """
    batches = Counter(each.network for each in await app.anchors.list(status="drafted"))
    if whole and batches != dict.fromkeys(networks.names, 1):
        raise RuntimeError(f"the digests are in several batches: {dict(batches)}")
    before = networks.requests()
    await app.work(until_idle=True, only=[f"broadcast_anchor_{name}" for name in networks.names])
    sent = networks.requests() - before
    wanted = {each: batches[networks.network_of(each)] for each in networks.requests()}
    if sent != wanted:
        raise RuntimeError(f"{dict(batches)} batches were sent as {dict(sent)}")


async def _confirm(app: App, networks: Networks, url: str) -> float:
    """Confirm what was sent to the chain; return the seconds from the first look to the last document."""
    if not networks.chain:
        return 0.0
    networks.confirm(POLYGON)
    await execute(url, "look_now", network=POLYGON)
    queue = app.workers.queue(f"process-{POLYGON}-anchors")
    worker = BatchWorker(app.anchors.networks[POLYGON], queue, terms_of(app.settings, POLYGON))
    gc.collect()
    began = time.perf_counter()
    await worker.process([])
    return time.perf_counter() - began


async def _append(setting: Setting, size: int) -> float:
    """Return the seconds of `append_many` of events of this size, one for each stream."""
    contender = Foja("append_many", body=NOTE)
    with setting.bench.server.create_database() as database:
        await contender.create(database, setting.many)
        await contender.open(1)
        setting.bench.server.checkpoint()
        gc.collect()
        payload = {"content": "x" * (size - len('{"content": ""}'))}
        began = time.perf_counter()
        for start in range(0, setting.many, STEP):  # as the confirmation is told
            streams = contender.streams[start : start + STEP]
            await contender.app.ledger.append_many([each.draft(NOTE.kind, payload) for each in streams])
        seconds = time.perf_counter() - began
        await contender.close()
    return seconds


def _time_trees(figures: Figures, many: int) -> None:
    """Build leaves, root and all paths, and the tree of opentimestamps."""
    digests = [secrets.token_bytes(32) for _ in range(many)]

    def ours() -> object:
        return tree_of(hash_leaves(digests, split(secrets.token_bytes(SALT_BYTES * many), SALT_BYTES)))

    def theirs() -> object:
        return make_merkle_tree([Timestamp(digest) for digest in digests])

    for _ in range(TREE_ROUNDS):
        figures.our_trees.append(_timed(ours))
        figures.their_trees.append(_timed(theirs))


def _timed(work: Callable[[], object]) -> float:
    gc.collect()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _ratio(times: Sequence[float], others: Sequence[float]) -> Spread:
    return spread([one / other for one, other in zip(times, others, strict=True)])


def _table(figures: Figures, networks: Networks, many: int) -> Table:
    title = f"to anchor.submitted, {len(networks.names)} networks"
    rows = [
        ("to tsa.confirmed", "1", f"{median(figures.stamped):,.2f}", "four events, three jobs each"),
        (
            title,
            str(_ratio(figures.submitted, figures.stamped)),
            f"{median(figures.submitted):,.2f}",
            "one transaction, entry and request to each calendar for all",
        ),
    ]
    if figures.confirmed:
        rows += [
            ("append_many", "1", f"{median(figures.appended):,.2f}", "events of a confirmation's size"),
            (
                "one confirmation to all documents",
                str(_ratio(figures.confirmed, figures.appended)),
                f"{median(figures.confirmed):,.2f}",
                "proofs made, attempts and jobs ended",
            ),
        ]
    rows += [
        ("make_merkle_tree of opentimestamps", "1", f"{median(figures.their_trees):,.3f}", "root"),
        (
            "leaves, root and all paths",
            str(_ratio(figures.our_trees, figures.their_trees)),
            f"{median(figures.our_trees):,.3f}",
            "with a salt each",
        ),
    ]
    return Table(f"Anchoring {many:,} digests", ("what", "times", "this run: seconds", "note"), rows)


def _targets(figures: Figures, networks: Networks, many: int) -> list[Target]:
    trees = _ratio(figures.our_trees, figures.their_trees)
    found = [at_most("Tree of a batch, times make_merkle_tree of opentimestamps", MAX_TREE, trees.middle)]
    if len(networks.names) > len([REKOR]):
        title = f"{many:,} digests to anchor.submitted, times those to tsa.confirmed"
        found.append(at_most(title, MAX_TIME, _ratio(figures.submitted, figures.stamped).middle))
    if figures.confirmed:
        title = f"One confirmation to {many:,} documents, times append_many"
        found.append(at_most(title, MAX_TELLING, _ratio(figures.confirmed, figures.appended).middle))
    return found
