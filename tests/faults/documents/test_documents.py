"""Documents through bad days: dead workers, dishonest authorities, overtaken decisions, late answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from foja.app import App
from foja.domains.documents.workers import executor, timestamps
from foja.pure.models.documents.states import Pipeline, State
from tests.database.documents.papers import WITNESS, Paper, later
from tests.database.schema.rows import Admin
from tests.faults.documents.document_scene import Order, run
from tests.faults.mortal import KILLED, KILLS, Moment, Step
from tests.tsa_server import MADE, SENT, TsaServer, running_tsa

STORY = ["document.added", "document.protected.requested", "job.run-tsa.required", "tsa.confirmed"]
ONLY = [executor.TYPE, timestamps.TYPE]
OPEN_STAMPS = b"select from foja.job where type = 'run_tsa' and finished_at is null"
EVIL = sorted({*MADE, *SENT} - {"honest", "no accuracy", "two purposes", "purpose not critical", "empty"})


@pytest.fixture(scope="module")
def tsa() -> Iterator[TsaServer]:
    with running_tsa() as server:
        yield server


@pytest.fixture
async def ours(tsa: TsaServer, open_app: Callable[..., App], tmp_path: Path) -> AsyncIterator[App]:
    """Foja with that authority. Only an authority that hangs waits for the timeout."""
    (tmp_path / "root.pem").write_bytes(tsa.root)
    async with open_app(
        tsa_urls=tsa.url,
        tsa_roots=str(tmp_path / "root.pem"),
        tsa_timeout_seconds=3,
        protect_attempts=2,
        protect_pause_seconds=0,
    ) as app:
        yield app


async def kinds(app: App, document: UUID) -> list[str]:
    return [event.kind for event in await app.documents.events(document)]


async def test_no_lie_of_an_authority_becomes_a_timestamp(ours: App, tsa: TsaServer) -> None:
    """Whatever it does, no `tsa.confirmed`, a reason, and an end; an honest answer later still counts."""
    documents = {}
    for number, way in enumerate(EVIL):
        tsa.behave(way)
        added = await ours.documents.add_digest(f"{number:064x}", name=way)
        await ours.documents.protect(added.id)
        await ours.work(until_idle=True, only=ONLY)
        documents[way] = added.id
    for way, document in documents.items():
        said = await kinds(ours, document)
        assert said[2:] == ["job.run-tsa.required", "tsa.failed"] * 2, way
        view = await ours.documents.view(document)
        assert view.state is State.NONE
        [stamp] = [each for each in view.evidence if each.evidence == "tsa"]
        assert stamp.failure_code
        assert stamp.failure_code in view.explain
        assert "Gave up" in view.explain
    tsa.behave("honest")
    for document in documents.values():
        await ours.documents.retry(document, "tsa")
    await ours.work(until_idle=True, only=ONLY)
    for document in documents.values():
        assert (await kinds(ours, document))[-3:-1] == ["job.run-tsa.required", "tsa.confirmed"]


async def test_every_try_has_a_nonce_of_its_own(ours: App, tsa: TsaServer) -> None:
    before = len(tsa.asked)
    tsa.behave("another nonce", "another digest", "honest")
    document = await ours.documents.add_digest("d" * 64)
    await ours.documents.protect(document.id)
    await ours.work(until_idle=True, only=ONLY)
    await ours.documents.retry(document.id)
    await ours.work(until_idle=True, only=ONLY)
    assert (await ours.documents.view(document.id)).state is State.PROTECTED
    assert len({question.nonce for question in tsa.asked[before:]}) == 3


async def test_what_takes_too_long_is_ended_and_a_late_answer_changes_nothing(
    tsa: TsaServer, open_app: Callable[..., App], tmp_path: Path, admin: Admin
) -> None:
    (tmp_path / "root.pem").write_bytes(tsa.root)
    tsa.behave("hang")
    async with open_app(
        tsa_urls=tsa.url,
        tsa_roots=str(tmp_path / "root.pem"),
        tsa_timeout_seconds=50,  # the sweeper looks once a second
        tsa_window_seconds=0.2,
        protect_attempts=2,
        protect_pause_seconds=0,
    ) as app:
        document = await app.documents.add_digest("e" * 64)
        await app.documents.protect(document.id)
        working = asyncio.create_task(app.work(only=ONLY))
        async with asyncio.timeout(60):
            while "Gave up" not in await app.documents.explain(document.id):
                await asyncio.sleep(0.05)
            tsa.released.set()  # the authority ends its calls now
            while admin.execute(OPEN_STAMPS).fetchall():
                await asyncio.sleep(0.05)
        tsa.released.clear()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        events = await app.documents.events(document.id)
        endings = [event for event in events if event.kind == "tsa.failed"]
        assert [(each.payload["attempt"], each.payload["failure_code"]) for each in endings] == [
            (1, "timeout"),
            (2, "timeout"),
        ]
        assert {each.source for each in endings} == {"sweeper"}


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize(("job_type", "batch"), [*((each, 0) for each in ONLY), (timestamps.TYPE, 100)])
async def test_killed_at_every_step_each_witness_is_stamped_once(
    job_type: str,
    batch: int,
    open_app: Callable[..., App],
    admin: Admin,
    database_url: str,
    tmp_path: Path,
    kills: list[tuple[Step, Moment]],
) -> None:
    for number, (step, moment) in enumerate(kills):
        async with open_app(tsa_batch=batch) as app:
            documents = [await app.documents.add_digest(f"{number:032x}{each:032x}") for each in range(2)]
            for document in documents:
                await app.documents.protect(document.id)
            order = Order(database_url, tmp_path / "home", job_type, step, moment, batch=batch)
            assert await asyncio.to_thread(run, order) == KILLED
            while unfinished(admin):
                expire(admin)
                await app.work(until_idle=True, only=ONLY)
            for document in documents:
                said = await kinds(app, document.id)
                assert said[:4] == STORY, (step, moment)
                assert said[4:] == ["job.build-artifact.required"]
    assert {tries for (tries,) in admin.execute("select tries from foja.job where type = 'run_tsa'")} == {1}
    attempts = admin.execute("select distinct attempt, state from foja.attempt where evidence = 'tsa'")
    assert attempts.fetchall() == [(1, "confirmed")]


def expire(admin: Admin) -> None:
    """Let every lease of the dead be over."""
    admin.execute("update foja.job set lease_until = now() - interval '1 s' where state = 'running'")


def unfinished(admin: Admin) -> list[Any]:
    admin.execute("select foja.queue_woken_v1()")
    return admin.execute(
        "select from foja.job where type = any (%s) and state <> 'succeeded'", [ONLY]
    ).fetchall()


async def test_a_decision_that_was_overtaken_is_not_recorded_and_made_again(
    app: App, admin: Admin, database_url: str
) -> None:
    document = await app.documents.add_digest(WITNESS)
    await app.documents.protect(document.id)
    [worker] = [each for each, _ in await app.workers.open() if each.type == executor.TYPE]
    jobs = await worker._queue.claim(executor.TYPE, 10, "slow")
    outcomes = await worker._work(jobs)
    await app.documents.record(document.id, "document.witness.ready", {"witness_hash": WITNESS})
    verdicts = await worker._queue.settle(list(zip(jobs, outcomes, strict=True)))
    assert verdicts == ["again"]
    assert "job.run-tsa.required" not in await kinds(app, document.id)
    await app.work(until_idle=True, only=ONLY)
    assert Counter(await kinds(app, document.id))["tsa.confirmed"] == 1


async def test_what_was_uncommitted_while_the_executor_looked_moves_on(
    app: App, admin: Admin, database_url: str
) -> None:
    document = (await app.documents.add_digest(WITNESS)).id
    with psycopg.connect(database_url) as writer:
        writer.execute(
            "select append_document_entity_event(%s, %s::jsonb, 'api')", [document, request_of(WITNESS)]
        )
        working = asyncio.create_task(app.work(until_idle=True, only=ONLY))
        await asyncio.sleep(0.3)  # it has read by now, and waits for the stream to be free
        assert await kinds(app, document) == ["document.added"]
        writer.commit()
    await working
    await app.work(until_idle=True, only=ONLY)
    assert (await app.documents.view(document)).state is State.PROTECTED


def request_of(witness: str) -> str:
    return (
        '{"kind": "document.protected.requested", "payload": '
        f'{{"witness_hash": "{witness}", "required_evidence": ["tsa"]}}}}'
    )


async def test_two_confirmations_in_one_transaction_lead_to_the_artifact(
    admin: Admin, open_app: Callable[..., App]
) -> None:
    paper = Paper(admin)
    paper.allow("polygon", "bitcoin")
    paper.request("tsa", "polygon", "bitcoin")
    async with open_app() as app:
        await app.work(until_idle=True, only=ONLY)
        assert (await app.documents.view(paper.id)).pipeline is Pipeline.AWAITING_ANCHORS
        with admin.transaction():
            paper.anchored("polygon")
            paper.anchored("bitcoin")
        await app.work(until_idle=True, only=ONLY)
        view = await app.documents.view(paper.id)
        assert view.state is State.REINFORCED
        assert paper.kinds()[-1] == "job.build-artifact.required"


async def test_an_anchor_that_nobody_ends_times_out_and_is_tried_again(
    admin: Admin, open_app: Callable[..., App]
) -> None:
    paper = Paper(admin)
    paper.allow("polygon")
    paper.request("tsa", "polygon")
    async with open_app(polygon_attempts=2, polygon_pause_seconds=0) as app:
        for _ in range(2):
            await app.work(until_idle=True, only=ONLY)
            admin.execute(
                "update foja.attempt set deadline = now() where evidence = 'polygon' and state = 'open'"
            )
        await app.work(until_idle=True, only=ONLY)
        assert paper.kinds()[3:] == ["job.submit-anchor-polygon.required", "anchor.timeout"] * 2
        assert "Gave up on the anchor on Polygon" in await app.documents.explain(paper.id)
        states = {state for (state,) in admin.execute("select state from foja.job where type like 'submit%'")}
        assert states == {"cancelled"}
        body: dict[str, Any] = {"network": "polygon", "witness_hash": WITNESS, "attempt": 1}
        late = {**body, "confirmed_at": later(0)}
        silent = paper.refusal("anchor.confirmed", late, source="process-polygon-anchors")
        assert silent == "attempt_not_open"
        paper.anchored(late=True)
        assert (await app.documents.view(paper.id)).state is State.REINFORCED
