"""Documents at full speed: writers, executors, workers that die, deadlines, operators, a rebuilder.

The tokens are made up, as SQL would have them; what is looked at is that nobody waits for ever.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.domains.documents.assembly import expire_attempts
from foja.domains.documents.workers import executor
from foja.domains.documents.workers.executor import Executor
from foja.engine.driver.database import Database
from foja.engine.jobs.decider import drafting
from foja.engine.jobs.outcome import Done, GiveUp, Job, Outcome, Retry
from foja.engine.jobs.sweeper import sweep_jobs
from foja.engine.jobs.worker import Worker
from foja.engine.ledger.event import draft
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.observe.audit import audit
from foja.engine.sql import query
from foja.errors import Busy
from foja.pure.models.documents.events import DOCUMENT, Evidence, Fact
from foja.pure.models.documents.history import read
from foja.pure.models.documents.rules import Policy, TrackState, decide, due, track_state
from foja.pure.proofs.finding import Finding, Status
from tests.database.documents.papers import OTHER, TOKEN, WITNESS, have_object, later
from tests.job_domain import Admin, queue

SAY: LiteralString = "select append_document_entity_event(%s, %s, %s)"
HISTORY: LiteralString = "select seq, kind, at, payload from foja.event where entity_id = %s order by seq"
ABILITIES = {Evidence.TSA, Evidence.POLYGON, Evidence.ARTIFACT}
WINDOW = timedelta(milliseconds=400)
PAUSES = [0] * 6 + [0.02] * 3 + [WINDOW.total_seconds()]
POLICY = Policy(
    attempts=3, pause=timedelta(milliseconds=20), growth=1, windows=dict.fromkeys(Evidence, WINDOW)
)
QUIET: LiteralString = """
    select not exists (select from foja.attempt where state = 'open')
        and not exists (select from foja.job where state in ('queued', 'running', 'retry_scheduled')
            or state in ('dead', 'cancelled') and type = 'protect_document_v2')
        and not exists (select from foja.woken)
        and not exists (select from foja.entity where awake is not null)"""
CANCEL: LiteralString = """select foja.cancel_jobs_v1(array(select job_id from foja.job
    where state in ('queued', 'running', 'succeeded') order by random() limit 2))"""
# What has said its last words is over, and refused.
RETRY: LiteralString = """select foja.retry_jobs_v1(array(select job_id from foja.job
    where state = 'retry_scheduled' or type = 'protect_document_v2' and (state in ('dead', 'cancelled')
        or %s and state = 'succeeded') order by random() limit 5))"""
Part = Callable[[], Coroutine[Any, Any, None]]


class Archive:
    """A few documents that everybody works on at once, while it is open and until nothing is left."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.papers = sorted(uuid4() for _ in range(10))
        self.open = True
        self.over = False
        self.audits = self.rebuilt = 0

    async def writer(self) -> None:
        """Say one to three things about documents in one transaction, as the API, in their order."""
        async with await psycopg.AsyncConnection.connect(self.url) as conn:
            while self.open:
                try:
                    for paper in sorted(random.choices(self.papers, k=random.randint(1, 3))):
                        kind, body = _word(random.random())
                        await conn.execute(SAY, [paper, json.dumps({"kind": kind, "payload": body}), "api"])
                    await conn.commit()
                except psycopg.DatabaseError as refused:
                    await conn.rollback()
                    _expect_refusal(refused)
                    self._replace(paper, refused)
                await asyncio.sleep(0.01)

    async def chain(self) -> None:
        """Take confirmations back, and bring late ones, as whoever watches a chain would."""
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as conn:
            await conn.execute("set role foja_process_polygon_anchors")
            while self.open:
                about = {"network": "polygon", "witness_hash": WITNESS, "attempt": random.randint(1, 3)}
                late = {
                    "kind": "anchor.confirmed",
                    "payload": {**about, "confirmed_at": later(0), "late": True},
                }
                back = {"kind": "anchor.failed", "payload": {**about, "failure_code": "reorged"}}
                try:
                    said = json.dumps(random.choice([late, back]))
                    await conn.execute(SAY, [random.choice(self.papers), said, "process-polygon-anchors"])
                except psycopg.DatabaseError as refused:
                    _expect_refusal(refused)
                await asyncio.sleep(0.02)

    async def decider(self) -> None:
        async with queue(self.url, executor.SOURCE) as opened:
            decides = Executor(opened.database, POLICY, believe)
            work = drafting(DOCUMENT, executor.SOURCE, decides.work)
            await self._work(Worker(opened, executor.TYPE, work, most=4))

    async def rebuilder(self) -> None:
        async with queue(self.url, executor.SOURCE) as opened:
            decides = Executor(opened.database, POLICY, believe)
            while not self.over:
                with suppress(Busy):  # a busy machine holds a lock for longer than a statement waits
                    await decides.rebuild(self.papers)
                    self.rebuilt += 1
                await asyncio.sleep(0.05)

    def worker(self, job_type: str, end: Callable[[Job], Outcome]) -> Part:
        """Return somebody who does jobs, or dies, or is too slow for the deadline."""

        async def do(jobs: Sequence[Job]) -> Sequence[Outcome]:
            if self.open and random.random() < 0.05:
                raise asyncio.CancelledError  # as if it had died: nobody settles these
            await asyncio.sleep(random.choice(PAUSES) if self.open else 0)
            return [end(job) for job in jobs]

        async def run() -> None:
            async with queue(self.url, job_type.replace("_", "-")) as opened:
                await self._work(Worker(opened, job_type, do, most=5))

        return run

    async def operator(self) -> None:
        """Cancel and retry at random, executors too; at last bring back those that ended badly."""
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as conn:
            while not self.over:
                if self.open:
                    await conn.execute(CANCEL)
                await conn.execute(RETRY, [self.open])
                await asyncio.sleep(0.03)

    async def sweeper(self) -> None:
        database, notifier = Database(self.url, "foja_sweeper", 1), Notifier(self.url, "foja_sweeper")
        notifier.open()
        while not self.over:
            await sweep_jobs(database)
            await expire_attempts(database, notifier)
            await asyncio.sleep(0.02)
        await notifier.close()
        await database.close()

    async def auditor(self) -> None:
        """At every moment somebody is going to look at every stream that grew; at last nothing is left."""
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as conn:
            while not self.over:
                for question in ("audit_stuck_queues", "audit_sleepers"):
                    assert await (await conn.execute(query(question))).fetchall() == [], question
                self.audits += 1
                if not self.open:
                    self.over = await (await conn.execute(QUIET)).fetchone() == (True,)
                await asyncio.sleep(0.05)

    def _replace(self, paper: UUID, refused: psycopg.Error) -> None:
        """Put a new document in the place of one that is final or closed."""
        if refused.diag.message_primary in ("document_final", "document_closed") and paper in self.papers:
            self.papers = sorted({*self.papers, uuid4()})[-10:]

    async def _work(self, worker: Worker) -> None:
        while not self.over:
            if not await worker.step():
                await asyncio.sleep(0.01)


def _word(chance: float) -> tuple[str, dict[str, Any]]:
    """Return something that an application says about a document."""
    witness = random.choice([WITNESS, WITNESS, OTHER])
    if chance < 0.6:
        evidence = random.choice([["tsa"], ["tsa", "polygon"]])
        stage = random.choice(["initial", "intermediate", "final"])
        body = {"witness_hash": witness, "required_evidence": evidence, "stage": stage}
        return "document.protected.requested", body
    if chance < 0.75:
        evidence_name = random.choice(["tsa", "polygon", "artifact"])
        return "protection.retry.requested", {"evidence": evidence_name, "witness_hash": witness}
    if chance < 0.9:
        return "document.added", {"sha256": WITNESS, "custody": "hash_only"}
    if chance < 0.98:
        return "document.signature.started", {}
    return "document.revoked", {"reason": "wrong file"}


def _expect_refusal(error: psycopg.Error) -> None:
    assert error.sqlstate == "FJ001", error


def _ending(confirmed: str, failed: str, **more: Any) -> Callable[[Job], Outcome]:
    """Return how a job of an evidence ends: mostly well."""
    extra = {"network": more.pop("network")} if "network" in more else {}

    def end(job: Job) -> Outcome:
        source = job.type.replace("_", "-")
        about = {**extra, "witness_hash": job.payload["witness_hash"], "attempt": job.payload["attempt"]}
        failure = {**about, "failure_code": "refused"}
        chance = random.random()
        if chance < 0.1:
            return Retry("not now", after=0.01)
        if chance < 0.2:
            return GiveUp("never")  # its last words are said
        if chance < 0.35:
            return Done([draft(DOCUMENT, job.entity_id, failed, failure, source=source, tenant="default")])
        return Done(
            [draft(DOCUMENT, job.entity_id, confirmed, {**about, **more}, source=source, tenant="default")]
        )

    return end


STAMP = _ending("tsa.confirmed", "tsa.failed", **TOKEN)
ANCHOR = _ending("anchor.confirmed", "anchor.failed", network="polygon", confirmed_at=later(0))
BUILD = _ending(
    "artifact.finalized", "artifact.failed", sha256=OTHER, size=1, profile="p", verdict="TOTAL_PASSED"
)


async def live(url: str, seconds: float) -> Archive:
    """Let everybody work for a while, and then until nothing is left."""
    archive = Archive(url)
    with psycopg.connect(url, autocommit=True) as admin:
        have_object(admin, OTHER)
    parts: list[Part] = [archive.writer, archive.writer, archive.chain, archive.decider, archive.decider]
    parts += [archive.worker("run_tsa", STAMP), archive.worker("run_tsa", STAMP)]
    parts += [archive.worker("submit_anchor_polygon", ANCHOR), archive.worker("build_artifact", BUILD)]
    parts += [archive.operator, archive.sweeper, archive.rebuilder, archive.auditor]
    tasks = [asyncio.ensure_future(part()) for part in parts]
    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    # A busy machine loses more leases: everybody goes on until there is enough to judge.
    async with asyncio.timeout(180):
        while not (enough(archive) or any(task.done() for task in tasks)):
            await asyncio.sleep(0.5)
    archive.open = False
    async with asyncio.timeout(60):
        await asyncio.gather(*tasks)
    return archive


def believe(_: Fact, at: datetime) -> Finding:
    """Check no token: those of this machine are words."""
    return Finding("tsa", Status.VERIFIED)


def enough(archive: Archive) -> bool:
    """Return whether documents were confirmed, audited and rebuilt often enough to be checked."""
    with psycopg.connect(archive.url, autocommit=True) as admin:
        confirmed = Counter(kind for (kind,) in admin.execute("select kind from foja.event"))
    often = min(archive.audits, archive.rebuilt) > 5
    return often and confirmed["tsa.confirmed"] > 10 and confirmed["anchor.confirmed"] > 2


def standings(admin: Admin) -> Counter[str]:
    """Count how every evidence stands whose turn it is; fail if a document is owed anything."""
    found: Counter[str] = Counter()
    for (paper,) in admin.execute("select entity_id from foja.entity where domain = 'document'").fetchall():
        facts = [Fact(*row) for row in admin.execute(HISTORY, [paper])]
        assert decide(facts, abilities=ABILITIES, at=facts[-1].at, policy=POLICY) == []
        history = read(facts)
        found["closed"] += bool(history.closed)
        for track in due(history):
            stands = track_state(track, POLICY)
            assert (
                stands in (TrackState.CONFIRMED, TrackState.GIVEN_UP) or history.closed or history.finalized
            )
            found[f"{track.evidence} {stands}"] += 1
    return found


async def check(admin: Admin, archive: Archive) -> None:
    deadlocks = admin.execute(
        "select deadlocks from pg_stat_database where datname = current_database()"
    ).fetchone()
    assert deadlocks == (0,), "nobody saw one, not even who would have tried again"
    report = await audit(archive.url, max_lag_seconds=3600)
    invented = {"token"}  # the workers of this test record timestamps that no authority made
    assert {each.check for each in report.findings} == invented, report.findings
    refused = admin.execute(
        "select last_error from foja.job where type = 'protect_document_v2' and last_error like %s",
        ["%refused%"],
    ).fetchall()
    assert refused == [], "what it decides is what the guards let in"
    found = standings(admin)
    assert found["tsa confirmed"] > 5, found
    assert found["polygon confirmed"] > 0, found
    assert min(archive.audits, archive.rebuilt) > 5


@pytest.mark.parametrize("seconds", [4, pytest.param(60, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
async def test_every_document_gets_on_whatever_happens_beside_it(
    seconds: float, admin: Admin, database_url: str
) -> None:
    admin.execute("insert into foja.ability values ('polygon') on conflict do nothing")
    admin.execute("update foja.job_type set lease = '300 ms', max_tries = 4, backoff = '10 ms'")
    await check(admin, await live(database_url, seconds))
