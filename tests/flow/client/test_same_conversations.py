"""Conversations and streams of a user's domain: the client is the library, remote."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from foja import errors
from foja.app import App
from foja.engine.ledger.event import Event
from tests.flow.client.client import SAY
from tests.job_domain import ERRAND, RUN, Admin, install

Act = Callable[[], Awaitable[object]]
HI = {"content": "hi"}


async def test_append_with_a_key_and_an_expected_number(surface: Any) -> None:
    talk = await surface.conversations.open()
    first = await talk.append(SAY, HI, idempotency_key="k", expected_seq=0)
    again = await talk.append(SAY, HI, idempotency_key="k")
    assert (first.seq, first.kind, first.payload, first.replayed) == (0, SAY, HI, False)
    assert (again.seq, again.id, again.replayed) == (0, first.id, True)
    assert [each.seq for each in await talk.events()] == [0]
    state = await talk.state()
    assert (state.next_seq, state.sealed, await talk.gaps()) == (1, 1, 0)
    assert await surface.conversations.list(limit=1) == [talk.id]
    assert (await surface.conversations.open(str(talk.id))).id == talk.id


@pytest.mark.parametrize(
    ("error", "code", "more"),
    [
        (errors.UnknownKind, "unknown_kind", {"kind": "nonsense"}),
        (errors.BadPayload, "bad_payload", {"payload": {}}),
        (errors.WrongExpectedSeq, "wrong_expected_seq", {"expected_seq": 0}),
        (errors.IdempotencyConflict, "idempotency_conflict", {"idempotency_key": "k"}),
        # The client raised ValueError or TypeError, or recorded another value than was given.
        *(
            (errors.NotCanonical, "not_canonical", {"payload": {"content": [each]}})
            for each in (float("nan"), "\ud800", Decimal(1), b"bytes", datetime.now(UTC), {1}, uuid4())
        ),
    ],
)
async def test_a_refused_append_has_its_class(surface: Any, error: Any, code: str, more: Any) -> None:
    talk = await surface.conversations.open()
    await talk.append(SAY, {"content": "first"}, idempotency_key="k")
    with pytest.raises(errors.FojaError) as refused:
        await talk.append(**{"kind": SAY, "payload": HI, **more})
    assert (type(refused.value), refused.value.code, refused.value.retryable) == (error, code, False)


async def test_errors_of_reads_have_their_classes(surface: Any) -> None:
    talk = await surface.conversations.open()
    await talk.append(SAY, HI)
    found = []
    wrongs: list[Act] = [
        lambda: talk.approval("nothing"),
        lambda: talk.events(after="x:1"),
        lambda: talk.reserve(10_000),
        lambda: talk.prove(7),
        lambda: surface.documents.view(uuid4()),
        lambda: surface.jobs.show(2**40),
    ]
    for wrong in wrongs:
        with pytest.raises(errors.FojaError) as refused:
            await wrong()
        found.append(type(refused.value).__name__)
    assert found == [
        "UnknownApproval",
        "CursorLost",
        "BadReservation",
        "UnknownEntity",
        "UnknownEntity",
        "UnknownJob",
    ]


async def test_drafts_are_appended_together_or_each_by_itself(surface: Any) -> None:
    talk = await surface.conversations.open()
    drafts = [talk.draft(SAY, {"content": str(at)}) for at in range(3)]
    assert [each.seq for each in await talk.append_many(drafts)] == [0, 1, 2]
    assert [each.seq for each in await talk.append_many(drafts)] == [0, 1, 2], "a draft is sent twice"
    late = talk.draft(SAY, HI, expected_seq=0)
    found = await talk.append_each([talk.draft(SAY, HI), late])
    assert [type(each) for each in found] == [Event, errors.WrongExpectedSeq]
    with pytest.raises(errors.WrongExpectedSeq):
        await talk.append_many([talk.draft(SAY, HI), late])
    assert (await talk.state()).next_seq == 4


async def test_reserved_numbers_are_filled_voided_and_extended(surface: Any) -> None:
    talk = await surface.conversations.open()
    slots = await talk.reserve(3, ttl=60, intents=["a", None, 1])
    deadline = slots.deadline
    filled = await slots.fill(1, SAY, {"content": "second"}, idempotency_key="k")
    assert (await slots.fill(1, SAY, {"content": "second"}, idempotency_key="k")).replayed
    await slots.void(2, reason="denied")
    assert await slots.extend(300) > deadline
    assert (slots.seqs, filled.seq, slots.seq(0)) == ((0, 1, 2), 1, 0)
    seen = [(each.seq, each.kind, each.open) for each in await talk.events(limit=3)]
    assert seen == [(0, "slot.open", True), (1, SAY, False), (2, "slot.voided", False)]
    with pytest.raises(errors.FojaError) as refused:
        await slots.fill(2, SAY, HI)
    assert type(refused.value) is errors.SlotVoided
    await talk.slots(slots.token, slots.seqs).fill(0, SAY, {"content": "first"})
    assert [each.payload["content"] for each in await talk.events(limit=2)] == ["first", "second"]


async def test_approvals_are_requested_awaited_and_decided(surface: Any) -> None:
    talk = await surface.conversations.open()
    asked = await talk.request_approval("refund", {"amount": 1}, approval_id="a/1", policy="money")
    assert (asked.id, asked.open, asked.tool_args, asked.policy) == ("a/1", True, {"amount": 1}, "money")
    assert (await talk.request_approval("refund", {"amount": 1}, approval_id="a/1")).id == "a/1"
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(talk.wait_for_approval("a/1"))
        decided = await talk.decide("a/1", "approved", reason="it is fine")
    assert (decided.decision, decided.mine, decided.approval.reason) == ("approved", True, "it is fine")
    assert (waiting.result().state, (await talk.approval("a/1")).state) == ("approved", "approved")
    second = await talk.decide("a/1", "denied")
    assert (second.decision, second.mine) == ("approved", False)
    assert [(each.id, each.state) for each in await talk.approvals()] == [("a/1", "approved")]


async def test_follow_yields_events_and_transients(surface: Any) -> None:
    talk = await surface.conversations.open()
    await talk.append(SAY, {"content": "0"})
    first = await talk.append(SAY, {"content": "1"})
    seen = []
    async with asyncio.timeout(60), aclosing(talk.follow(after=0)) as items:
        async for item in items:
            seen.append((item.seq, item.kind))
            if item.kind == SAY:
                await talk.emit("message_chunk", {"text": "x"}, turn="t", block_index=0, event_index=0)
            else:
                break
    assert seen == [(first.seq, SAY), (None, "message_chunk")]


async def test_an_event_is_erased_protected_and_proven(app: App, surface: Any) -> None:
    talk = await surface.conversations.open()
    await talk.append(SAY, HI)
    await talk.append(SAY, {"content": "secret"})
    await app.work(until_idle=True)
    document = await talk.protect()
    assert (document.custody, document.new) == ("stored", True)
    assert (await surface.conversations.protect(talk.id, "tsa")).id == document.id
    proof = await talk.prove(0)
    assert proof.verify(app.trust).verdict == "TOTAL_PASSED"
    assert proof.index < proof.size
    await talk.erase(1, reason="asked to")
    assert [(each.kind, each.payload) for each in await talk.events(limit=2)] == [(SAY, HI), (SAY, None)]


async def test_a_stream_of_a_domain_of_yours(app: App, admin: Admin, surface: Any) -> None:
    install(admin)
    streams = surface.streams(ERRAND)
    errand = await streams.open()
    asked = await errand.append("errand.asked", {"what": "milk"}, idempotency_key="k")
    assert (asked.seq, (await errand.state()).next_seq) == (0, 1)
    assert await streams.list() == [errand.id]
    drafts = [errand.draft("errand.asked", {"what": what}) for what in ("eggs", "salt")]
    assert [each.seq for each in await errand.append_many(drafts)] == [1, 2]
    with pytest.raises(errors.UnknownKind):
        await errand.append("errand.lost", {})
    await app.publish()
    assert (await errand.prove(0)).verify(app.trust).verdict == "TOTAL_PASSED"
    assert (await errand.protect(["tsa"])).custody == "stored"
    await errand.erase(2, reason="asked to")
    assert [each.payload for each in await errand.events(after=1, limit=1)] == [None]
    with pytest.raises(errors.NotErasable):
        await errand.erase(3, reason="asked to")  # the record of the erasure


async def test_jobs_are_queued_listed_retried_and_cancelled(admin: Admin, surface: Any) -> None:
    install(admin)
    errand = await surface.streams(ERRAND).open()
    await errand.append("errand.asked", {"what": "milk"})
    made = await surface.jobs.enqueue(RUN, errand.id, key="k", payload={"n": 1}, delay=3600)
    again = await surface.jobs.enqueue(RUN, errand.id, key="k", payload={"n": 1}, delay=3600)
    assert (made.new, again.new, again.key) == (True, False, "k")
    [job] = [each for each in await surface.jobs.list(entity_id=errand.id) if each.type == RUN]
    assert (await surface.jobs.show(job.id)).id == job.id
    assert (await surface.jobs.retry(job.id)).done == 1
    assert (await surface.jobs.cancel(job_type=RUN, state="queued")).done == 1
    assert (await surface.jobs.show(job.id)).state == "cancelled"
    assert (await surface.jobs.pause(RUN)).paused
    assert not (await surface.jobs.resume(RUN)).paused
    with pytest.raises(errors.UnknownJob):
        await surface.jobs.enqueue("run_nothing", errand.id, key="k")
