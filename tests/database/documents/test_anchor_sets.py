"""Many attempts opened, and many digests gathered and submitted, at once: as strict as one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from foja.app import App
from foja.domains.documents.workers.anchors import Submitter
from foja.engine.anchors.store import AnchorStore, Created
from foja.engine.jobs.outcome import Done, Job, Snooze
from foja.engine.jobs.queue import Queue
from foja.engine.ledger.event import Draft, draft
from foja.errors import Refused
from foja.pure.models.documents.events import DOCUMENT
from tests.database.documents.anchor_scene import NETWORKS, Admin, Scene, scene

EXECUTOR = "protect_document_v2"
SOON = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
LATE = (datetime.now(UTC) + timedelta(days=31)).isoformat()


async def _stamped(stage: Scene, documents: int) -> tuple[Queue, list[Job]]:
    """Stamp documents; return the executor's jobs that would request their anchors."""
    for number in range(documents):
        document = await stage.app.documents.add_digest(sha256(bytes([number])).hexdigest())
        await document.protect(["tsa", "polygon", "rekor"])
    await stage.app.work(until_idle=True, only=[EXECUTOR])
    await stage.app.work(until_idle=True, only=["run_tsa"])
    queue = stage.app.workers.queue("protect-document-v2")
    return queue, sorted(await queue.claim(EXECUTOR, 10, "test"), key=lambda job: job.entity_id)


def _asked(stage: Scene, job: Job, kind: str = "submit-anchor-polygon", **changed: Any) -> Draft:
    [[witness]] = stage.rows("select witness_hash from foja.document where entity_id = %s", job.entity_id)
    body = {"witness_hash": witness, "attempt": 1, "deadline": SOON, **changed}
    source = "protect-document-v2"
    return draft(DOCUMENT, job.entity_id, f"job.{kind}.required", body, tenant=job.tenant, source=source)


def _tracked(stage: Scene, documents: Sequence[UUID]) -> list[tuple[Any, ...]]:
    return stage.rows(
        """select entity_id, evidence, witness_hash, attempt, asked_seq, deadline, state, submitted_seq
        from foja.attempt where entity_id = any (%s) order by 1, 2, 4""",
        list(documents),
    )


async def test_attempts_that_are_opened_together_are_kept_as_their_events_say(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(open_app, admin, monkeypatch, *NETWORKS) as stage:
        queue, jobs = await _stamped(stage, 3)
        both = [Done([_asked(stage, job), _asked(stage, job, "submit-anchor-rekor")], read=4) for job in jobs]
        assert await queue.settle(list(zip(jobs, both, strict=True))) == ["done"] * 3
        documents = [job.entity_id for job in jobs]
        kept = _tracked(stage, documents)
        assert [(each[1], each[3], each[4], each[6]) for each in kept[:3]] == [
            ("polygon", 1, 4, "open"), ("rekor", 1, 5, "open"), ("tsa", 1, 2, "confirmed")
        ]  # fmt: skip
        for document in documents:
            assert stage.rows("select foja.rebuild_document(%s)", document) == [(False,)]
        assert _tracked(stage, documents) == kept


@pytest.mark.parametrize(
    "bad",
    [
        lambda stage, job: [_asked(stage, job, attempt=2)],
        lambda stage, job: [_asked(stage, job, attempt=1.5)],
        lambda stage, job: [_asked(stage, job, deadline=LATE)],
        lambda stage, job: [_asked(stage, job, deadline="soon")],
        lambda stage, job: [_asked(stage, job, witness_hash="ab" * 32)],
        lambda stage, job: [_asked(stage, job, "submit-anchor-bitcoin")],
        lambda stage, job: [_asked(stage, job), _asked(stage, job)],
        lambda stage, job: [_asked(stage, job, "run-tsa")],
        lambda stage, job: [_asked(stage, job, "build-artifact")],
    ],
)
async def test_one_event_out_of_turn_refuses_all_that_are_opened_together_for_its_own_reason(
    open_app: Callable[..., App],
    admin: Admin,
    monkeypatch: pytest.MonkeyPatch,
    bad: Callable[[Scene, Job], list[Draft]],
) -> None:
    async with scene(open_app, admin, monkeypatch, *NETWORKS) as stage:
        queue, [good, other] = await _stamped(stage, 2)
        before = _tracked(stage, [good.entity_id, other.entity_id])
        reasons = []
        for jobs in ([other], [good, other]):
            events = {good.id: [_asked(stage, good)], other.id: bad(stage, other)}
            with pytest.raises(Refused) as refusal:
                await queue.settle([(job, Done(events[job.id], read=4)) for job in jobs])
            reasons.append((type(refusal.value), refusal.value.code, str(refusal.value)))
        assert reasons[0] == reasons[1]
        assert _tracked(stage, [good.entity_id, other.entity_id]) == before


@pytest.mark.parametrize(
    "forged",
    [{"attempt": 2}, {"witness_hash": "ab" * 32}, {"network": "bitcoin"}, {"batch": "another"}, {}],
)
async def test_a_maker_of_batches_records_no_submission_but_that_of_its_jobs(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch, forged: dict[str, Any]
) -> None:
    async with scene(open_app, admin, monkeypatch) as stage:
        await stage.protect(2)
        create = AnchorStore.create

        async def forge(store: AnchorStore, new: Any, *about: Any, **more: Any) -> Created:
            first, second = new.drafts
            body = {**first.value, **forged}
            other = draft(DOCUMENT, first.entity_id, first.kind, body, tenant="default", source=first.source)
            drafts = [other, second] if forged else [first]
            return await create(store, replace(new, drafts=drafts), *about, **more)

        monkeypatch.setattr(AnchorStore, "create", forge)
        jobs = await stage.claim()
        outcomes = await stage.submitter().work(jobs)
        assert {type(each).__name__ for each in outcomes} == {"Retry"}
        assert "must name the batch" in repr(outcomes) or "an event for each job" in repr(outcomes)
        assert stage.rows("select 1 from foja.anchor_batch") == []
        assert stage.rows("select 1 from foja.event where kind = 'anchor.submitted'") == []
        await stage.check()


async def test_digests_of_one_period_are_in_one_batch_even_if_their_jobs_are_due_one_by_one(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(open_app, admin, monkeypatch, anchor_batch_seconds=900) as stage:
        await stage.protect(3)
        await stage.work()
        assert stage.statuses() == {}
        rows = stage.rows(
            "select run_at > now(), lease_token from foja.job where type = 'submit_anchor_polygon'"
        )
        assert rows == [(True, None)] * 3, "what waits was not claimed"
        stage.run(
            """update foja.job set run_at = now() where job_id = (
                select min(job_id) from foja.job where type = 'submit_anchor_polygon')"""
        )
        # Requested in an earlier period, as far as the worker can see.
        monkeypatch.setattr("foja.domains.documents.workers.anchors.Submitter._pause", _no_pause)
        await stage.work()
        assert stage.rows("select size from foja.anchor_batch") == [(3,)]


async def test_a_network_that_is_held_is_not_asked_again_because_enough_digests_wait(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    async def count() -> None:
        nonlocal asked
        asked += 1

    settings = {"anchor_batch_seconds": 900, "anchor_batch_size": 2}
    async with scene(open_app, admin, monkeypatch, **settings) as stage:
        stage.polygon.missing, stage.polygon.hooks["check"] = ["the balance is 0"], count
        await stage.protect(2)
        await stage.work()
        assert asked == 1
        await stage.work()
        assert asked == 1
        stage.polygon.missing = []
        assert await stage.app.anchors.flush("polygon") == 2
        await stage.work()
        assert stage.rows("select size from foja.anchor_batch") == [(2,)]


async def test_a_full_batch_that_could_not_be_made_at_once_does_not_wait_for_the_end_of_its_period(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"anchor_batch_seconds": 900, "anchor_batch_size": 3}
    async with scene(open_app, admin, monkeypatch, **settings) as stage:
        make, busy = Submitter._lease, [True]

        async def once_busy(submitter: Submitter, wanted: Any) -> Any:
            return (Snooze(300.0), {}) if busy and busy.pop() else await make(submitter, wanted)

        monkeypatch.setattr(Submitter, "_lease", once_busy)
        await stage.protect(3)
        await stage.work()
        assert stage.statuses() == {}, "another worker drafts"
        stage.run(  # they were put back in parts, and one is due before the others
            """update foja.job set run_at = case job_id when (
                select min(job_id) from foja.job where type = 'submit_anchor_polygon'
            ) then now() else now() + interval '1 minute' end where type = 'submit_anchor_polygon'"""
        )
        await stage.work()
        assert stage.rows("select size from foja.anchor_batch") == [(3,)]


async def test_an_attempt_after_a_pause_is_not_taken_along_before_its_time(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"anchor_batch_seconds": 900, "polygon_pause_seconds": 800}
    async with scene(open_app, admin, monkeypatch, **settings) as stage:
        [paused] = await stage.protect(1)
        stage.expire()
        await stage.work()
        [(run_at,)] = stage.rows("select max(run_at) from foja.job where entity_id = %s", paused)
        [fresh] = await stage.protect(1)
        assert await stage.app.anchors.flush("polygon") == 1
        await stage.work()
        assert stage.kinds(fresh) == ["anchor.submitted"]
        assert "anchor.submitted" not in stage.kinds(paused)
        assert stage.rows("select max(run_at) from foja.job where entity_id = %s", paused) == [(run_at,)]


async def _no_pause(*_: object) -> None:
    return None
