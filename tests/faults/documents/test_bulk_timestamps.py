"""A batch under one token through bad days: its settlement fails, a lease is lost, an event is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from foja.app import App
from foja.domains.documents.workers import executor, timestamps
from foja.engine.jobs import worker as jobs_worker
from foja.engine.jobs.encoding import Settled
from foja.engine.jobs.outcome import Job, Outcome
from foja.engine.jobs.worker import Worker
from foja.errors import Unavailable
from tests.database.schema.rows import Admin
from tests.tsa_server import TsaServer, running_tsa

ONLY = [executor.TYPE, timestamps.TYPE]
PART, MANY = 2, 7


@pytest.fixture(scope="module")
def tsa() -> Iterator[TsaServer]:
    with running_tsa() as server:
        yield server


@pytest.fixture
async def bulk(
    tsa: TsaServer, open_app: Callable[..., App], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[App]:
    """Foja with batches of up to 100, which are settled in parts of two."""
    monkeypatch.setattr(jobs_worker, "SETTLED_AT_ONCE", PART)
    (tmp_path / "root.pem").write_bytes(tsa.root)
    roots = str(tmp_path / "root.pem")
    async with open_app(tsa_urls=tsa.url, tsa_roots=roots, tsa_batch=100, protect_pause_seconds=0) as app:
        yield app


async def decided(app: App) -> list[UUID]:
    """Return documents whose timestamps are due."""
    documents = [await app.documents.add_digest(f"{number:064x}") for number in range(MANY)]
    for document in documents:
        await app.documents.protect(document.id)
    await app.work(until_idle=True, only=[executor.TYPE])
    return [document.id for document in documents]


async def stamper_of(app: App) -> Worker:
    """Return one worker that stamps, apart from the others."""
    opened = await app.workers.open([timestamps.TYPE])
    return opened[0][0]


async def confirmations(app: App, document: UUID) -> list[dict[str, Any]]:
    return [each.payload for each in await app.documents.events(document) if each.kind == "tsa.confirmed"]


def expire(admin: Admin) -> None:
    admin.execute("update foja.job set lease_until = now() - interval '1 s' where state = 'running'")


async def finish(app: App, admin: Admin) -> None:
    while admin.execute(
        "select from foja.job where type = 'run_tsa' and state in ('running', 'queued', 'retry_scheduled')"
    ).fetchall():
        expire(admin)
        await app.work(until_idle=True, only=ONLY)


@pytest.mark.parametrize("saved", [False, True], ids=["and not saved", "but saved"])
async def test_a_settlement_that_fails_in_the_middle_loses_and_repeats_nothing(
    bulk: App, admin: Admin, tsa: TsaServer, saved: bool
) -> None:
    documents = await decided(bulk)
    stamper, before = await stamper_of(bulk), len(tsa.asked)
    settle, parts = stamper._queue.settle, list[Settled]()

    async def failing(settled: Settled) -> Any:
        parts.append(settled)
        if len(parts) == 1:
            return await settle(settled)
        if saved:
            await settle(settled)
        raise Unavailable("the database is gone")

    stamper._queue.settle = failing  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        await stamper.step()
    assert len(tsa.asked) == before + 1
    stamper._queue.settle = settle  # type: ignore[method-assign]
    found = [each for document in documents for each in await confirmations(bulk, document)]
    assert len(found) == PART * (2 if saved else 1)
    assert len({each["token_b64"] for each in found}) == 1
    await finish(bulk, admin)
    for document in documents:
        assert len(await confirmations(bulk, document)) == 1


async def test_an_answer_that_is_lost_once_is_asked_for_again(bulk: App, tsa: TsaServer) -> None:
    documents = await decided(bulk)
    stamper, before = await stamper_of(bulk), len(tsa.asked)
    settle, lost = stamper._queue.settle, [True]

    async def failing(settled: Settled) -> Any:
        verdicts = await settle(settled)
        if lost.pop() if lost else False:
            raise Unavailable("the answer is lost")
        return verdicts

    stamper._queue.settle = failing  # type: ignore[method-assign]
    assert await stamper.step() == MANY
    for document in documents:
        assert len(await confirmations(bulk, document)) == 1
    assert len(tsa.asked) == before + 1


async def test_a_lease_that_is_lost_affects_its_own_document(bulk: App, admin: Admin, tsa: TsaServer) -> None:
    """Between claim and settlement one job goes to another worker: the others keep the token."""
    documents = await decided(bulk)
    stamper, before = await stamper_of(bulk), len(tsa.asked)
    work = stamper._work

    async def losing(jobs: Any) -> Any:
        outcomes = await work(jobs)
        admin.execute("update foja.job set lease_token = gen_random_uuid() where job_id = %s", [jobs[3].id])
        return outcomes

    stamper._work = losing
    assert await stamper.step() == MANY
    counts = [len(await confirmations(bulk, document)) for document in documents]
    assert sorted(counts) == [0, *[1] * (MANY - 1)]
    assert len(tsa.asked) == before + 1
    await finish(bulk, admin)
    assert [len(await confirmations(bulk, document)) for document in documents] == [1] * MANY
    assert len(tsa.asked) == before + 2


async def test_a_document_whose_event_is_refused_affects_no_other(
    bulk: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard refuses one of the events: its part is settled in halves, the others in one go."""
    monkeypatch.setattr(jobs_worker, "SETTLED_AT_ONCE", 100)
    documents = await decided(bulk)
    stamper = await stamper_of(bulk)
    make, settle, sizes = timestamps._event, stamper._queue.settle, list[int]()

    def spoil(kind: str, job: Job, more: Mapping[str, Any]) -> Outcome:
        spoiled = job.payload["witness_hash"] == f"{3:064x}"
        return make(kind, job, {**more, "gen_time": "never"} if spoiled else more)

    async def counting(settled: Settled) -> Any:
        sizes.append(len(settled))
        return await settle(settled)

    monkeypatch.setattr(timestamps, "_event", spoil)
    stamper._queue.settle = counting  # type: ignore[method-assign]
    assert await stamper.step() == MANY
    kinds = [[each.kind for each in await bulk.documents.events(document)] for document in documents]
    assert sorted("tsa.confirmed" in each for each in kinds) == [False, *[True] * (MANY - 1)]
    assert [each for each in kinds if "tsa.failed" in each] == [
        each for each in kinds if "tsa.confirmed" not in each
    ]
    assert len(sizes) < 2 * MANY
    assert sizes[0] == MANY


async def test_leases_are_kept_while_a_long_settlement_goes_on(
    bulk: App, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.execute("update foja.job_type set lease = interval '6 seconds' where type = 'run_tsa'")
    documents = await decided(bulk)
    stamper = await stamper_of(bulk)
    settle, kept = stamper._queue.settle, list[datetime]()

    def ends() -> datetime:
        [(first,)] = admin.execute(
            "select min(lease_until) from foja.job where type = 'run_tsa' and state = 'running'"
        ).fetchall()
        assert isinstance(first, datetime)
        return first

    async def slow(settled: Settled) -> Any:
        """Take more than a third of a lease, twice."""
        kept.append(ends())
        await asyncio.sleep(2.2 if len(kept) < 3 else 0)
        return await settle(settled)

    stamper._queue.settle = slow  # type: ignore[method-assign]
    assert await stamper.step() == MANY
    assert len(kept) == 4, "one part after the other"
    assert kept[0] < kept[1] < kept[2], "the leases of the rest were extended"
    assert [len(await confirmations(bulk, document)) for document in documents] == [1] * MANY
