"""Batches of anchors: one payment, one confirmation for many documents, and every end of an attempt.

The network is a double: these are tests of the state machine, not of evidence.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256

import psycopg
import pytest

from foja.app import App
from foja.domains.documents.workers.anchors import UNFIT
from foja.engine.anchors.network import Refused
from foja.engine.anchors.store import Note
from foja.engine.jobs.outcome import Done, Snooze
from foja.engine.ledger.event import draft
from foja.pure.models.documents.events import DOCUMENT
from tests.database.documents.anchor_scene import NETWORKS, Admin, Scene, scene
from tests.fake_network import FEE, MAX_FEE

FOREIGN = json.dumps({"witness_hash": "ab" * 32, "requested_at": "2026-01-01T00:00:00+00:00"})


async def test_one_transaction_confirms_many_documents_and_each_has_its_own_proof(stage: Scene) -> None:
    documents = await stage.protect(5)
    await stage.work()
    assert stage.statuses() == {"sent": 1}
    assert {*map(tuple, map(stage.kinds, documents))} == {("anchor.submitted",)}
    await stage.confirm()
    proofs = set()
    for document in documents:
        assert stage.kinds(document)[:2] == ["anchor.submitted", "anchor.confirmed"]
        event = stage.payload(document, "anchor.confirmed")
        assert event["attempt"] == 1
        assert "late" not in event
        assert event["batch"] == stage.payload(document, "anchor.submitted")["batch"]
        proof = await stage.app.anchors.proofs.proof_of(document, "polygon")
        assert proof is not None
        assert event["proof"] == {"sha256": sha256(proof.data).hexdigest()}
        assert proof.trust == [f"block {event['block_hash']}"]
        proofs.add(proof.data)
        view = await stage.app.documents.view(document)
        assert view.state == "reinforced"
    assert len(proofs) == 5
    assert stage.chain.paid == 1
    [batch] = await stage.app.anchors.list()
    assert (batch.status, batch.size, batch.fee, batch.nonce) == ("confirmed", 5, Decimal(FEE), 0)
    await stage.check()


async def test_all_networks_take_part_and_rekor_has_its_own_kind(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(open_app, admin, monkeypatch, *NETWORKS) as stage:
        [document] = await stage.protect(1, *NETWORKS)
        await stage.work()
        for network in NETWORKS:
            await stage.confirm(network)
        kinds = stage.kinds(document)
        assert sorted(kinds[:6]) == ["anchor.confirmed"] * 2 + ["anchor.submitted"] * 3 + ["rekor.confirmed"]
        assert stage.payload(document, "rekor.confirmed")["log_index"] == 0
        assert (await stage.app.documents.view(document)).pipeline == "awaiting_artifact"


async def test_digests_wait_for_others_until_the_batch_is_full_or_flushed(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"anchor_batch_seconds": 900, "anchor_batch_size": 3}
    async with scene(open_app, admin, monkeypatch, **settings) as stage:
        first = await stage.protect(2)
        await stage.work()
        assert stage.statuses() == {}
        assert stage.rows("select tries from foja.job where type = 'submit_anchor_polygon'") == [(0,), (0,)]
        more = await stage.protect(1)
        await stage.work()
        assert stage.rows("select size from foja.anchor_batch") == [(3,)], "it is full"
        assert {stage.kinds(each)[0] for each in first + more} == {"anchor.submitted"}
        await stage.protect(1)
        await stage.work()
        assert await stage.app.anchors.flush("polygon") == 1
        await stage.work()
        assert stage.rows("select size from foja.anchor_batch order by created_at") == [(3,), (1,)]


async def test_a_batch_is_closed_when_its_oldest_digest_is_of_an_earlier_period(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(open_app, admin, monkeypatch, anchor_batch_seconds=1) as stage:
        await stage.protect(2)
        for _ in range(30):
            await stage.work()
            if stage.statuses():
                break
            await asyncio.sleep(0.1)
        assert stage.rows("select size from foja.anchor_batch") == [(2,)]


async def test_a_job_whose_evidence_is_confirmed_sends_nothing(stage: Scene) -> None:
    [document] = await stage.protect(1)
    jobs = await stage.claim()
    stage.run(
        """insert into foja.attempt
            (entity_id, evidence, witness_hash, attempt, asked_seq, deadline, state, tenant)
        select entity_id, evidence, witness_hash, 7, 99, deadline, 'confirmed', tenant from foja.attempt
        where entity_id = %s and evidence = 'polygon'""",
        document,
    )
    assert await stage.submitter().work(jobs) == [Done()]
    assert stage.polygon.drafted == []
    assert stage.statuses() == {}


async def test_a_lost_lease_leaves_its_job_out_and_nothing_was_created(stage: Scene) -> None:
    await stage.protect(3)
    jobs = await stage.claim()

    async def lose() -> None:
        stage.run("update foja.job set lease_token = gen_random_uuid() where job_id = %s", jobs[1].id)
        stage.polygon.hooks.clear()

    stage.polygon.hooks["draft"] = lose
    outcomes = await stage.submitter().work(jobs)
    assert outcomes == [Snooze(0.0)] * 3
    assert stage.statuses() == {}
    assert await stage.settle(jobs, outcomes) == ["snooze", "lost", "snooze"]
    again = await stage.claim()
    assert [job.id for job in again] == [jobs[0].id, jobs[2].id]
    assert await stage.submitter().work(again) == [Done()] * 2
    assert await stage.settle(again, [Done()] * 2) == ["already"] * 2
    submitted = [stage.kinds(job.entity_id) for job in jobs]
    assert submitted == [["anchor.submitted"], [], ["anchor.submitted"]]
    assert stage.polygon.drafted == [0, 0], "the unused nonce went to the next draft"
    assert stage.rows("select next_nonce from foja.anchor_account") == [(1,)]


async def test_an_attempt_that_ended_between_claim_and_batch_does_not_spoil_it(stage: Scene) -> None:
    documents = await stage.protect(3)
    jobs = await stage.claim()

    async def end() -> None:  # the job is still leased: only the guards know
        stage.run(
            "update foja.attempt set state = 'failed' where entity_id = %s and evidence = 'polygon'",
            documents[0],
        )
        stage.polygon.hooks.clear()

    stage.polygon.hooks["draft"] = end
    bad = [job.entity_id == documents[0] for job in jobs]
    assert await stage.submitter().work(jobs) == [UNFIT if each else Snooze(0.0) for each in bad]
    assert stage.statuses() == {}
    assert await stage.submitter().work(jobs) == [Done()] * 3
    assert stage.rows("select size from foja.anchor_batch") == [(2,)]


async def test_an_attempt_whose_job_has_no_tries_left_failed_for_max_attempts(stage: Scene) -> None:
    """The seed's failure code was never used: such an attempt failed with `job_died`, without its reason."""
    [document] = await stage.protect(1)

    async def refuse() -> None:
        raise ValueError("the node answers nonsense")

    stage.polygon.hooks["draft"] = refuse
    for tries in range(5):
        assert "anchor.failed" not in stage.kinds(document), tries
        await stage.work()
        stage.run("update foja.job set run_at = now() where state = 'retry_scheduled'")
    failed = stage.payload(document, "anchor.failed")
    assert (failed["failure_code"], failed["attempt"]) == ("max_attempts", 1)
    assert failed["reason"] == "ValueError: the node answers nonsense"
    await stage.check()


async def test_a_job_of_a_document_needs_the_event_that_opened_its_attempt(stage: Scene) -> None:
    [document] = await stage.protect(1)
    for payload in ("{}", '{"witness_hash": "ab"}', FOREIGN):
        with pytest.raises(psycopg.Error, match="bad_payload"):
            stage.run(
                "select foja.enqueue_job_v1('submit_anchor_polygon', %s, 'odd', %s::jsonb)", document, payload
            )


@pytest.mark.parametrize("payload", ["{}", '{"witness_hash": "ab"}'])
async def test_a_job_that_names_no_digest_of_ours_does_not_spoil_a_batch(stage: Scene, payload: str) -> None:
    """A job of the installation, as for its checkpoints, needs no event."""
    [document] = await stage.protect(1)
    stage.run(
        "select foja.enqueue_job_v1('submit_anchor_polygon', installation_id, 'odd', %s::jsonb) "
        "from foja.installation",
        payload,
    )
    for _ in range(8):
        await stage.work()
        stage.run("update foja.job set run_at = now() where state in ('queued', 'retry_scheduled')")
    assert stage.rows("select size from foja.anchor_batch") == [(1,)]
    assert stage.rows("select state from foja.job where dedupe_key = 'odd'") == [("dead",)]
    await stage.confirm()
    assert stage.kinds(document)[:2] == ["anchor.submitted", "anchor.confirmed"]


async def test_two_hosts_with_one_key_use_no_nonce_twice(stage: Scene) -> None:
    await stage.protect(4)
    first, second = await stage.claim(most=2), await stage.claim(most=2)
    other = stage.submitter()

    async def meanwhile() -> None:
        stage.polygon.hooks.clear()
        assert await other.work(second) == [Snooze(1.0)] * 2, "the account is leased"
        stage.run("update foja.anchor_account set lease_until = now() - interval '1 second'")
        assert await other.work(second) == [Done()] * 2, "the lease ran out: another host took it"

    stage.polygon.hooks["draft"] = meanwhile
    assert await stage.submitter().work(first) == [Snooze(0.0)] * 2, "its nonce is not the next one any more"
    assert await stage.submitter().work(first) == [Done()] * 2
    await stage.work()
    stage.chain.mine()
    stage.chain.mine()
    assert stage.rows("select nonce from foja.anchor_batch order by nonce") == [(0,), (1,)]
    assert stage.chain.paid == 2


async def test_a_timeout_with_the_transaction_in_the_pool_pays_once(stage: Scene) -> None:
    [document] = await stage.protect(1)
    await stage.work()
    stage.expire()
    await stage.work()
    assert stage.kinds(document) == ["anchor.submitted", "anchor.timeout", "anchor.submitted"]
    assert stage.payload(document, "anchor.submitted")["attempt"] == 2
    assert stage.statuses() == {"sent": 1}
    await stage.confirm()
    assert stage.payload(document, "anchor.confirmed")["attempt"] == 2
    assert stage.chain.paid == 1
    await stage.check()


async def test_a_late_confirmation_is_accepted_marked_and_cancels_what_follows(stage: Scene) -> None:
    [document] = await stage.protect(1)
    await stage.work()
    stage.expire()
    await stage.app.work(until_idle=True, only=["protect_document_v2"])
    assert stage.kinds(document) == ["anchor.submitted", "anchor.timeout"]
    await stage.confirm()
    confirmed = stage.payload(document, "anchor.confirmed")
    assert (confirmed["attempt"], confirmed["late"]) == (1, True)
    states = """select attempt, state from foja.attempt
        where entity_id = %s and evidence = 'polygon' order by attempt"""
    assert stage.rows(states, document) == [(1, "confirmed"), (2, "superseded")]
    assert stage.rows("select state from foja.job where type = 'submit_anchor_polygon' order by job_id") == [
        ("succeeded",),
        ("cancelled",),
    ]


async def test_a_foreign_transaction_with_the_nonce_fails_the_batch_and_the_next_one_is_paid(
    stage: Scene,
) -> None:
    documents = await stage.protect(3)
    await stage.work()
    stage.chain.spend(0)
    await stage.look()
    for document in documents:
        assert stage.payload(document, "anchor.failed")["failure_code"] == "nonce_spent"
    await stage.work()
    await stage.confirm()
    assert {stage.payload(each, "anchor.confirmed")["attempt"] for each in documents} == {2}
    assert stage.rows("select nonce, status from foja.anchor_batch order by nonce") == [
        (0, "refused"),
        (1, "confirmed"),
    ]
    assert stage.chain.paid == 1
    await stage.check()


async def test_the_unused_nonce_of_a_refused_batch_goes_to_the_next(stage: Scene) -> None:
    await stage.protect(1)
    await stage.work()
    [(root,)] = stage.rows("select encode(root, 'hex') from foja.anchor_batch")
    stage.polygon.refusals[root] = Refused({}, "missing_tx_hash", "nothing was sent")
    stage.chain.pool.clear()
    await stage.look()
    await stage.work()
    assert stage.rows("select nonce, spent, status from foja.anchor_batch order by created_at") == [
        (0, False, "refused"),
        (0, True, "sent"),
    ]
    await stage.confirm()
    assert stage.chain.paid == 1


@pytest.mark.parametrize("moved", [False, True])
async def test_a_reorganisation_takes_the_confirmation_back_and_the_same_batch_confirms_again(
    stage: Scene, moved: bool
) -> None:
    documents = await stage.protect(2)
    await stage.work()
    await stage.confirm()
    first = stage.payload(documents[0], "anchor.confirmed")
    stage.chain.reorganise(keep=moved)
    await stage.look()
    for document in documents:
        failed = stage.payload(document, "anchor.failed")
        assert failed["failure_code"] == "reorged"
        assert (await stage.app.documents.view(document)).state == "protected"
    await stage.work()
    assert stage.statuses() == {"sent": 1}
    await stage.confirm()
    for document in documents:
        again = stage.payload(document, "anchor.confirmed")
        assert again["block_hash"] != first["block_hash"]
        proof = await stage.app.anchors.proofs.proof_of(document, "polygon")
        assert proof is not None
        assert again["proof"] == {"sha256": sha256(proof.data).hexdigest()}
    assert stage.chain.paid == 1
    await stage.check()


async def test_a_watched_batch_that_stays_is_left_alone(stage: Scene) -> None:
    [document] = await stage.protect(1)
    await stage.work()
    await stage.confirm()
    before = stage.kinds(document)
    await stage.look()
    assert stage.kinds(document) == before
    stage.run("update foja.anchor_batch set confirmed_at = now() - interval '30 days'")
    assert stage.statuses() == {"confirmed": 1}


async def test_the_daily_cap_stops_new_batches_and_everything_says_so(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(open_app, admin, monkeypatch, polygon_daily_cap=0) as stage:
        [document] = await stage.protect(1)
        await stage.work()
        assert stage.statuses() == {}
        assert (
            "no batch is sent now (“the daily cap of polygon is reached"
            in await stage.app.documents.explain(document)
        )
        [polygon, *_] = await stage.app.anchors.overview()
        assert polygon.held == "the daily cap of polygon is reached; see docs/settings.md"
        assert polygon.waiting == 1
        assert stage.rows("select tries from foja.job where type = 'submit_anchor_polygon'") == [(0,)]


async def test_a_low_balance_stops_new_batches_until_it_is_filled(stage: Scene) -> None:
    stage.polygon.missing = ["the balance is 0"]
    [document] = await stage.protect(1)
    await stage.work()
    assert "the balance is 0" in await stage.app.documents.explain(document)
    stage.polygon.missing = []
    stage.run("update foja.job set run_at = now() where type = 'submit_anchor_polygon'")
    await stage.work()
    assert stage.statuses() == {"sent": 1}
    assert "balance" not in await stage.app.documents.explain(document)
    [cost] = await stage.app.anchors.cost()
    assert (cost.batches, cost.digests, cost.fee, cost.open_fee) == (1, 1, Decimal(0), Decimal(MAX_FEE))


async def test_a_network_is_enabled_only_if_nothing_is_missing_and_processes_notice(stage: Scene) -> None:
    assert await stage.app.anchors.disable("polygon")
    with pytest.raises(Exception, match="cannot produce polygon"):
        await stage.protect(1)
    stage.polygon.missing = ["no key"]
    assert (await stage.app.anchors.enable("polygon")).missing == ("no key",)
    assert stage.rows("select 1 from foja.ability where evidence = 'polygon'") == []
    stage.polygon.missing = []
    await stage.app.anchors.enable("polygon")
    assert len(await stage.protect(1)) == 1


async def test_an_outage_costs_no_try_and_nothing_is_sent_twice(stage: Scene) -> None:
    [document] = await stage.protect(1)
    stage.polygon.down = True
    await stage.work()
    assert "does not answer" in await stage.app.documents.explain(document)
    stage.polygon.down = False
    stage.run("update foja.job set run_at = now() where type = 'submit_anchor_polygon'")
    await stage.work()
    await stage.confirm()
    assert stage.kinds(document)[1] == "anchor.confirmed"
    assert stage.chain.paid == 1


async def test_a_document_that_was_revoked_meanwhile_is_not_paid_for(stage: Scene) -> None:
    """The attack of issue 13, finding 16."""
    documents = await stage.protect(2)
    jobs = await stage.claim()
    await stage.app.documents.record(documents[0], "document.revoked", {"reason": "mistake"})
    await stage.settle(jobs, await stage.submitter().work(jobs))
    assert stage.kinds(documents[0]) == ["document.revoked"]
    assert stage.rows("select size from foja.anchor_batch") == [(1,)]


async def test_a_stream_that_another_session_holds_delays_only_itself(
    stage: Scene, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foja.domains.documents.workers.anchors.HELD_STREAM_SECONDS", 0.3)
    documents = await stage.protect(3)
    with psycopg.connect(database_url) as other:
        other.execute("select from foja.entity where entity_id = %s for update", [documents[1]])
        await stage.work()
        assert [stage.kinds(each) for each in documents] == [["anchor.submitted"], [], ["anchor.submitted"]]
        other.rollback()
    stage.release()  # its job could not be put back either: it is done again after its lease
    await stage.work()
    assert stage.rows("select size from foja.anchor_batch order by nonce") == [(2,), (1,)]
    with psycopg.connect(database_url) as other:
        other.execute("select from foja.entity where entity_id = %s for update", [documents[2]])
        stage.chain.mine()
        stage.chain.mine()
        await stage.look()
        assert ["anchor.confirmed" in stage.kinds(each) for each in documents] == [True, True, False]
        other.rollback()
    await stage.look()
    assert "anchor.confirmed" in stage.kinds(documents[2])
    await stage.check()


async def test_ticks_look_at_batches_and_end_when_nothing_is_left_to_look_at(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"anchor_poll_seconds": 1, "anchor_watch_seconds": 0}
    async with scene(open_app, admin, monkeypatch, **settings) as stage:
        [document] = await stage.protect(1)
        await stage.work()
        stage.chain.mine()
        stage.run("update foja.anchor_batch set next_look = now()")
        stage.run("update foja.tick set due = now()")
        for _ in range(100):
            await stage.work()
            if not stage.rows("select 1 from foja.tick where type = 'process_polygon_anchors'"):
                break
            await asyncio.sleep(0.1)
        assert stage.kinds(document)[1] == "anchor.confirmed"
        assert stage.rows("select next_look from foja.anchor_batch") == [(None,)]
        assert stage.rows("select 1 from foja.tick where type = 'process_polygon_anchors'") == []


async def test_a_worker_cannot_confirm_what_its_batch_does_not_hold(stage: Scene) -> None:
    inside = await stage.protect(1)
    await stage.work()
    store = stage.follower()._store
    stage.run("update foja.anchor_batch set next_look = now()")
    [claimed] = await store.claim()
    drafts = [
        draft(
            DOCUMENT,
            inside[0],
            "anchor.timeout",
            {"network": "polygon", "witness_hash": "ab" * 32, "attempt": 1, "limit": "never"},
            tenant="default",
            source="process-polygon-anchors",
        )
    ]
    assert await store.tell(claimed, 0, 1, drafts, 1.0) == "stale", "there is nothing to tell"
    assert await store.note(claimed, Note("confirmed", {}, outcome={}))
    assert await store.tell(claimed, 0, 1, drafts, 1.0) == "changed", "that is not what the document needs"
