"""A batch of bundles under one token through bad days: each step fails, a lease is lost, one is spoiled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import foja
from foja.app import App
from foja.domains.documents.bundles import Bundles
from foja.domains.documents.stamper import Stamper
from foja.domains.documents.workers import artifacts, executor, timestamps
from foja.engine.jobs.encoding import Settled
from foja.engine.jobs.outcome import Done, Outcome
from foja.engine.jobs.worker import Worker
from foja.errors import ObjectMissing, Unavailable
from foja.pure.core.bundle import assembly
from foja.pure.judge.report import Verdict
from tests.database.schema.rows import Admin
from tests.faults.documents.document_scene import Order, run
from tests.faults.mortal import KILLED, KILLS, Step
from tests.faults.mortal import Moment as Death
from tests.tsa_server import TsaServer, running_tsa

BEFORE = [executor.TYPE, timestamps.TYPE]
ALL = (*BEFORE, artifacts.BUILD)
MANY = 5


@pytest.fixture
def tsa() -> Iterator[TsaServer]:
    with running_tsa() as server:
        yield server


@pytest.fixture
async def bulk(tsa: TsaServer, open_app: Callable[..., App], tmp_path: Path) -> AsyncIterator[App]:
    (tmp_path / "root.pem").write_bytes(tsa.root)
    settings = {"tsa_urls": tsa.url, "tsa_roots": str(tmp_path / "root.pem"), "tsa_batch": 100}
    async with open_app(**settings, protect_attempts=2, protect_pause_seconds=0) as app:
        yield app


async def stamped(app: App) -> list[UUID]:
    """Return documents whose artifacts are due."""
    documents = []
    for number in range(MANY):
        added = await app.documents.add(b"document %d\n" % number, name=f"{number}.txt")
        await app.documents.protect(added.id)
        documents.append(added.id)
    await app.work(until_idle=True, only=BEFORE)
    await app.publish()
    return documents


async def builder_of(app: App) -> Worker:
    """Return one worker that builds, apart from the others."""
    opened = await app.workers.open([artifacts.BUILD])
    return opened[0][0]


async def ends(app: App, document: UUID) -> list[str]:
    """Return what happened to the artifact of a document; one that is kept must pass."""
    events = await app.documents.events(document)
    found = [each for each in events if each.kind.startswith("artifact.")]
    if any(each.kind == "artifact.finalized" for each in found):
        report = foja.verify(await app.documents.bundle(document), trust=app.trust)
        assert report.verdict is Verdict.TOTAL_PASSED
    return [each.payload.get("failure_code") or each.kind for each in found]


async def finish(app: App, admin: Admin) -> None:
    for _ in range(50):
        admin.execute("update foja.job set lease_until = now() - interval '1 s' where state = 'running'")
        await app.work(until_idle=True)
        if not admin.execute(
            "select from foja.job where type = 'build_artifact' and finished_at is null"
        ).fetchall():
            return
        await asyncio.sleep(0.1)
    raise AssertionError


@pytest.mark.parametrize(
    ("way", "code"),
    [("another digest", "imprint_mismatch"), ("another nonce", "nonce_mismatch"), ("busy", "http_status")],
)
async def test_a_seal_that_no_authority_gives_ends_the_attempts_and_a_later_one_counts(
    bulk: App, tsa: TsaServer, way: str, code: str
) -> None:
    documents = await stamped(bulk)
    tsa.behave(way, "honest")
    await bulk.work(until_idle=True)
    for document in documents:
        assert await ends(bulk, document) == [code, "artifact.finalized"]


async def test_an_answer_of_the_authority_that_is_lost_is_asked_for_again(
    bulk: App, admin: Admin, tsa: TsaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token was given and paid for, and the process did not get it: nothing is recorded of it."""
    documents = await stamped(bulk)
    stamp, lost = Stamper.stamp, [True]

    async def losing(self: Stamper, digest: bytes) -> Any:
        found = await stamp(self, digest)
        if lost:
            lost.clear()
            raise Unavailable("the answer is lost")
        return found

    monkeypatch.setattr(Stamper, "stamp", losing)
    before = len(tsa.asked)
    await finish(bulk, admin)
    assert not lost
    assert len(tsa.asked) == before + 2
    assert [await ends(bulk, each) for each in documents] == [["artifact.finalized"]] * MANY


@pytest.mark.parametrize("saved", [False, True], ids=["and not saved", "but saved"])
async def test_a_settlement_that_fails_loses_and_repeats_nothing(
    bulk: App, admin: Admin, saved: bool
) -> None:
    documents = await stamped(bulk)
    builder = await builder_of(bulk)
    settle = builder._queue.settle

    async def failing(settled: Settled) -> Any:
        if not any(isinstance(outcome, Done) for _, outcome in settled):
            return await settle(settled)
        if saved:
            await settle(settled)
        raise Unavailable("the database is gone")

    builder._queue.settle = failing  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        await builder.step()
    builder._queue.settle = settle  # type: ignore[method-assign]
    await finish(bulk, admin)
    assert [await ends(bulk, each) for each in documents] == [["artifact.finalized"]] * MANY


async def test_a_lease_that_is_lost_affects_its_own_document(bulk: App, admin: Admin, tsa: TsaServer) -> None:
    """Between claim and settlement one job goes to another worker: the others keep their seals."""
    documents = await stamped(bulk)
    builder, before = await builder_of(bulk), len(tsa.asked)
    work = builder._work

    async def losing(jobs: Sequence[Any]) -> Sequence[Outcome]:
        outcomes = await work(jobs)
        admin.execute("update foja.job set lease_token = gen_random_uuid() where job_id = %s", [jobs[2].id])
        return outcomes

    builder._work = losing
    assert await builder.step() == MANY
    counts = [len(await ends(bulk, document)) for document in documents]
    assert sorted(counts) == [0, *[1] * (MANY - 1)]
    assert len(tsa.asked) == before + 1
    await finish(bulk, admin)
    assert [await ends(bulk, each) for each in documents] == [["artifact.finalized"]] * MANY
    assert len(tsa.asked) == before + 2


async def test_a_document_that_is_lost_affects_no_other(
    bulk: App, tsa: TsaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = await stamped(bulk)
    spoiled = (await bulk.documents.view(documents[3])).witness_hash
    fetch = bulk.objects.fetch

    async def missing(tenant: str, sha256: str, target: Any) -> None:
        if sha256 == spoiled:
            raise ObjectMissing("it is gone")
        await fetch(tenant, sha256, target)

    monkeypatch.setattr(bulk.objects, "fetch", missing)
    before = len(tsa.asked)
    await bulk.work(until_idle=True, only=[artifacts.BUILD])
    assert len(tsa.asked) == before + 1
    found = [await ends(bulk, document) for document in documents]
    assert found.pop(3) == ["document_lost"]
    assert found == [["artifact.finalized"]] * (MANY - 1)


async def test_a_bundle_that_does_not_pass_affects_no_other(
    bulk: App, tsa: TsaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One gets the record of its neighbour: its own judge refuses it, and the others are kept."""
    documents = await stamped(bulk)
    seal, calls = assembly.seal_in_a_batch, list[bytes]()

    def spoil(parts: Any, listed: bytes, blinding: bytes, record: bytes) -> Any:
        calls.append(record)
        return seal(parts, listed, blinding, calls[0] if len(calls) == 2 else record)

    monkeypatch.setattr(assembly, "seal_in_a_batch", spoil)
    await bulk.work(until_idle=True, only=[artifacts.BUILD])
    found = [await ends(bulk, document) for document in documents]
    assert sorted(found) == [["artifact.finalized"]] * (MANY - 1) + [["not_passed"]]
    await bulk.work(until_idle=True)
    assert all(each[-1] == "artifact.finalized" for each in [await ends(bulk, d) for d in documents])


async def test_a_document_that_cannot_be_collected_is_done_alone(
    bulk: App, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault that nobody thought of: the others get tokens of their own, and it is tried again."""
    documents = await stamped(bulk)
    admin.execute("update foja.job_type set backoff = '1 hour'")  # it is tried once before it is mended
    collect, spoiled = Bundles.collect, [True]

    async def failing(self: Any, proven: Any, spool: Any) -> Any:
        if proven.events[0].entity_id == documents[1] and spoiled:
            raise RuntimeError("nobody thought of this")
        return await collect(self, proven, spool)

    monkeypatch.setattr(Bundles, "collect", failing)
    await bulk.work(until_idle=True, only=[artifacts.BUILD])
    found = [await ends(bulk, document) for document in documents]
    assert found.pop(1) == []
    assert found == [["artifact.finalized"]] * (MANY - 1)
    spoiled.clear()
    admin.execute("update foja.job set run_at = now() where state = 'retry_scheduled'")
    await finish(bulk, admin)
    assert await ends(bulk, documents[1]) == ["artifact.finalized"]


@pytest.mark.parametrize("kills", KILLS)
async def test_killed_at_every_step_there_is_one_artifact_each(
    open_app: Callable[..., App],
    admin: Admin,
    database_url: str,
    tmp_path: Path,
    kills: list[tuple[Step, Death]],
) -> None:
    for step, moment in kills:
        async with open_app(tsa_batch=100) as app:
            documents = []
            for number in range(3):
                text = f"{step} {moment} {number}\n".encode()
                documents.append((await app.documents.add(text, name="a.txt")).id)
                await app.documents.protect(documents[-1])
            order = Order(database_url, tmp_path / "home", artifacts.BUILD, step, moment, ALL, 100)
            assert await asyncio.to_thread(run, order) == KILLED
            await finish(app, admin)
            assert [await ends(app, each) for each in documents] == [["artifact.finalized"]] * 3
