"""The rules of documents: total, repeatable, and every state is explained."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.pure.models.documents.events import Evidence
from foja.pure.models.documents.history import read
from foja.pure.models.documents.lifecycle import TRANSITIONS, Lifecycle, lifecycle
from foja.pure.models.documents.projection import Projection, project, summary
from foja.pure.models.documents.rules import DEFAULT, decide
from foja.pure.models.documents.states import EvidenceStatus, Pipeline, State
from foja.pure.models.documents.view import explain, view
from foja.pure.proofs.tsa import LOCAL_NOTICE
from tests.rules.document_histories import (
    ANY_HISTORY,
    EVERYTHING,
    POLICY,
    START,
    WITNESSES,
    Fact,
    asked,
    confirmed,
    failed,
    history,
    request,
)

TSA, POLYGON, BITCOIN, ARTIFACT = Evidence.TSA, Evidence.POLYGON, Evidence.BITCOIN, Evidence.ARTIFACT
NOW = START + timedelta(days=1)
START_ID = UUID(int=1)
RANK = list(State)


def needed(facts: Sequence[Fact], abilities: frozenset[str] = EVERYTHING) -> list[tuple[str, int]]:
    found = decide(facts, abilities=abilities, at=NOW, policy=POLICY)
    return [(need.job, need.attempt) for need in found]


def shown(facts: Sequence[Fact], abilities: frozenset[str] = EVERYTHING) -> Projection:
    return project(facts, abilities=abilities, at=NOW, policy=POLICY)


@pytest.mark.parametrize(
    ("events", "jobs"),
    [
        ([], []),
        ([asked(TSA), confirmed(TSA)], []),
        ([request("tsa")], [("run_tsa", 1)]),
        ([request("tsa"), asked(TSA)], []),
        ([request("tsa"), asked(TSA), failed(TSA)], [("run_tsa", 2)]),
        ([request("tsa", "polygon")], [("run_tsa", 1)]),
        (
            [request("tsa", "polygon", "bitcoin"), asked(TSA), confirmed(TSA)],
            [("submit_anchor_polygon", 1), ("submit_anchor_bitcoin", 1)],
        ),
        ([request("tsa"), asked(TSA), confirmed(TSA)], [("build_artifact", 1)]),
        ([request("tsa", stage="initial"), asked(TSA), confirmed(TSA)], []),
        ([request("tsa", stage="final"), asked(TSA), confirmed(TSA)], [("build_artifact", 1)]),
        (
            [request("tsa"), asked(TSA), confirmed(TSA), request("tsa", witness=WITNESSES[1])],
            [("run_tsa", 1)],
        ),
        ([request("tsa"), asked(TSA), confirmed(TSA), asked(ARTIFACT), confirmed(ARTIFACT)], []),
        ([request("tsa"), ("document.revoked", {"reason": "r"})], []),
        ([request("tsa"), ("document.archived", {"reason": "r"})], []),
    ],
)
def test_the_table(events: list[tuple[str, dict[str, object]]], jobs: list[tuple[str, int]]) -> None:
    assert needed(history(*events)) == jobs


def test_a_confirmation_of_another_witness_does_not_count() -> None:
    facts = history(request("tsa"), asked(TSA), confirmed(TSA, witness=WITNESSES[1]))
    assert shown(facts).pipeline is Pipeline.AWAITING_TSA


def test_after_the_last_attempt_new_ones_can_be_granted() -> None:
    events = [request("tsa")]
    for attempt in (1, 2, 3):
        assert needed(history(*events)) == [("run_tsa", attempt)]
        events += [asked(TSA, attempt), failed(TSA, attempt, code="nonce_mismatch")]
    assert needed(history(*events)) == []
    text = explain(shown(history(*events)))
    assert "Gave up" in text
    assert "nonce_mismatch" in text
    assert "foja retry" in text
    events.append(("protection.retry.requested", {"evidence": "tsa", "witness_hash": WITNESSES[0]}))
    assert needed(history(*events)) == [("run_tsa", 4)]
    events += [asked(TSA, 4), failed(TSA, 4), asked(TSA, 5), failed(TSA, 5), asked(TSA, 6), failed(TSA, 6)]
    assert needed(history(*events)) == []


def test_pauses_grow_and_the_deadline_is_a_window_after_the_start() -> None:
    pauses = []
    events = [request("tsa")]
    for attempt in range(1, 5):
        facts = history(*events)
        [need] = decide(facts, abilities=EVERYTHING, at=facts[-1].at)
        pauses.append((need.run_at - facts[-1].at).total_seconds())
        assert need.deadline - need.run_at == DEFAULT.windows[TSA]
        events += [asked(TSA, attempt), failed(TSA, attempt)]
    assert pauses[0] == 0
    assert pauses[1] >= 30
    assert pauses[2] >= 3 * pauses[1]


def test_evidence_that_is_not_installed_is_not_requested_and_explained() -> None:
    facts = history(request("tsa"), asked(TSA), confirmed(TSA))
    able = frozenset({"tsa"})
    assert needed(facts, able) == []
    now = shown(facts, able)
    assert now.pipeline is Pipeline.AWAITING_ARTIFACT
    assert "artifact is not installed" in explain(now)


def test_an_anchor_that_is_taken_back_is_requested_again() -> None:
    events = [request("tsa", "polygon"), asked(TSA), confirmed(TSA), asked(POLYGON), confirmed(POLYGON)]
    assert shown(history(*events)).state is State.REINFORCED
    assert lifecycle(history(*events)) is Lifecycle.ANCHORED
    events.append(failed(POLYGON, code="reorged"))
    assert shown(history(*events)).state is State.PROTECTED
    assert lifecycle(history(*events)) is Lifecycle.PROTECTED
    assert needed(history(*events)) == [("submit_anchor_polygon", 2)]


END = {
    "final": [asked(ARTIFACT), confirmed(ARTIFACT)],
    "revoked": [("document.revoked", {"reason": "r"})],
    "archived": [("document.archived", {"reason": "r"})],
}


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("end", END)
def test_an_anchor_that_is_taken_back_after_the_end_is_shown_and_explained(end: str, attempts: int) -> None:
    events = [request("tsa", "polygon"), asked(TSA), confirmed(TSA)]
    for attempt in range(1, attempts):
        events += [asked(POLYGON, attempt), failed(POLYGON, attempt)]
    events += [asked(POLYGON, attempts), confirmed(POLYGON, attempts), *END[end]]
    events.append(failed(POLYGON, attempts, code="reorged"))
    now = shown(history(*events))
    [polygon] = [each for each in now.evidence if each.evidence is POLYGON]
    assert (polygon.status, polygon.failure_code) == (EvidenceStatus.FAILED, "reorged")
    assert polygon.since == history(*events)[-1].at
    text = explain(now)
    assert end in text
    assert "the anchor on Polygon was taken back at 2026-02-26 12:00:" in text
    assert "Nothing more will happen" not in text


def test_evidence_that_was_not_confirmed_before_the_end_is_explained() -> None:
    events = [request("tsa", "polygon"), asked(TSA), failed(TSA, code="hung"), END["revoked"][0]]
    now = shown(history(*events))
    assert [each.status for each in now.evidence] == [EvidenceStatus.FAILED] * 3
    assert "the timestamp was not confirmed before that. The last attempt ended with hung." in explain(now)


def test_the_newest_failure_is_shown_when_a_late_confirmation_is_taken_back() -> None:
    events = [request("tsa", "polygon"), asked(TSA), confirmed(TSA)]
    for attempt in (1, 2, 3):
        events += [asked(POLYGON, attempt), failed(POLYGON, attempt, code="timeout")]
    events += [confirmed(POLYGON, 1), failed(POLYGON, 1, code="reorged")]
    [polygon] = [each for each in shown(history(*events)).evidence if each.evidence is POLYGON]
    assert (polygon.status, polygon.failure_code) == (EvidenceStatus.GIVEN_UP, "reorged")


def test_a_late_confirmation_ends_the_attempt_that_is_open_then() -> None:
    events = [request("tsa"), asked(TSA, 1), failed(TSA, 1, code="timeout"), asked(TSA, 2), confirmed(TSA, 1)]
    assert read(history(*events)).track(TSA, WITNESSES[0]).open is None
    assert shown(history(*events)).state is State.PROTECTED


def test_a_new_request_ends_the_artifact_that_is_being_built() -> None:
    events = [request("tsa"), asked(TSA), confirmed(TSA), asked(Evidence.ARTIFACT)]
    assert needed(history(*events)) == []
    other = WITNESSES[1]
    events += [request("tsa", witness=other), asked(TSA, witness=other), confirmed(TSA, witness=other)]
    assert needed(history(*events)) == [("build_artifact", 2)]


def test_the_reason_of_the_last_failure_stays_while_the_next_attempt_is_open() -> None:
    facts = history(request("tsa"), asked(TSA), failed(TSA, code="unreachable"), asked(TSA, 2))
    [tsa] = [each for each in shown(facts).evidence if each.evidence is TSA]
    assert (tsa.failure_code, tsa.since) == ("unreachable", START)
    assert "unreachable" in explain(shown(facts))


@given(ANY_HISTORY)
def test_decide_is_total_and_repeatable(facts: list[Fact]) -> None:
    once = decide(facts, abilities=EVERYTHING, at=NOW, policy=POLICY)
    assert decide(list(facts), abilities=EVERYTHING, at=NOW, policy=POLICY) == once
    pairs = [(need.evidence, need.witness) for need in once]
    assert len(pairs) == len(set(pairs))
    view(START_ID, facts, abilities=EVERYTHING, at=NOW, policy=POLICY)


@given(ANY_HISTORY)
def test_a_final_or_closed_document_needs_nothing(facts: list[Fact]) -> None:
    ended = any(
        fact.kind in ("artifact.finalized", "document.revoked", "document.archived") and fact.payload
        for fact in facts
    )
    if ended:
        assert needed(facts) == []
    assert summary(facts)["length"] == len(facts)


@given(ANY_HISTORY, st.sampled_from([TSA, POLYGON, BITCOIN, ARTIFACT]), st.integers(1, 4))
def test_failures_never_lower_the_state(facts: list[Fact], evidence: Evidence, attempt: int) -> None:
    kind, body = failed(evidence, attempt)
    more = [*facts, Fact(len(facts), kind, NOW, body)]
    assert RANK.index(shown(more).state) >= RANK.index(shown(facts).state)
    before = {
        (need.evidence, need.witness): need.attempt for need in decide(facts, abilities=EVERYTHING, at=NOW)
    }
    after = {
        (need.evidence, need.witness): need.attempt for need in decide(more, abilities=EVERYTHING, at=NOW)
    }
    assert all(after[pair] >= number for pair, number in before.items() if pair in after)


def test_exactly_the_states_of_the_seed_are_reached() -> None:
    assert {target for _, target in TRANSITIONS.values()} == set(Lifecycle)
    story = [
        ("document.witness.required", Lifecycle.NEEDS_WITNESS),
        ("document.witness.ready", Lifecycle.WITNESS_READY),
        ("tsa.confirmed", Lifecycle.PROTECTED),
        ("document.signature.started", Lifecycle.IN_SIGNATURE_FLOW),
        ("document.signed", Lifecycle.SIGNED),
        ("anchor.confirmed", Lifecycle.ANCHORED),
        ("document.revoked", Lifecycle.REVOKED),
        ("document.signed", Lifecycle.REVOKED),
        ("document.archived", Lifecycle.ARCHIVED),
        ("document.revoked", Lifecycle.ARCHIVED),
    ]
    facts = history(*((kind, {}) for kind, _ in story))
    assert [lifecycle(facts[: n + 1]) for n in range(len(facts))] == [state for _, state in story]


def test_a_view_has_the_timeline_and_the_notice_of_a_local_authority() -> None:
    kind, body = confirmed(TSA)
    facts = history(request("tsa"), asked(TSA), (kind, {**body, "local": True}))
    seen = view(START_ID, facts, abilities=frozenset({"tsa"}), at=NOW)
    assert [moment.kind for moment in seen.timeline] == [fact.kind for fact in facts]
    assert seen.note == LOCAL_NOTICE
    assert seen.document()["state"] == "protected"
    assert seen.document()["pipeline"] == "awaiting_artifact"


@pytest.mark.parametrize(
    ("stamps", "here", "note"),
    [
        ([], LOCAL_NOTICE, LOCAL_NOTICE),
        ([], None, None),
        ([(0, False)], LOCAL_NOTICE, LOCAL_NOTICE),  # the stamp that counts is still to come
        ([(0, True)], None, LOCAL_NOTICE),
        ([(1, False)], LOCAL_NOTICE, None),
        ([(1, True)], None, LOCAL_NOTICE),
        ([(0, True), (1, False)], LOCAL_NOTICE, None),
        ([(0, False), (1, True)], None, LOCAL_NOTICE),
    ],
)
def test_the_note_is_about_the_stamp_of_the_last_request(
    stamps: list[tuple[int, bool]], here: str | None, note: str | None
) -> None:
    requests = [request("tsa", witness=each) for each in WITNESSES[:2]]
    stamped = [(confirmed(TSA, witness=WITNESSES[number]), local) for number, local in stamps]
    facts = history(*requests, *((kind, {**body, "local": local}) for (kind, body), local in stamped))
    seen = view(START_ID, facts, abilities=frozenset({"tsa"}), at=NOW, note=here)
    assert seen.note == note


def test_a_required_witness_holds_protection_back_until_it_is_ready() -> None:
    """`needs_witness` holds back what the seed calls "para continuar"."""
    asked_for = [request("tsa"), ("document.witness.required", {"reason": "the scan is incomplete"})]
    held = history(*asked_for)
    assert needed(held[:1]) == [("run_tsa", 1)]
    assert needed(held) == []
    seen = view(START_ID, held, abilities=EVERYTHING, at=NOW)
    assert seen.lifecycle is Lifecycle.NEEDS_WITNESS
    assert seen.explain.startswith("A witness is required since 2026-02-26 12:00:01Z: nothing goes on until")
    ready = history(*asked_for, ("document.witness.ready", {"witness_hash": WITNESSES[1]}))
    assert needed(ready) == [("run_tsa", 1)]


def test_a_required_witness_supersedes_the_artifact_and_lets_open_attempts_end() -> None:
    """An attempt that is open ends; the artifact is not made without the witness."""
    stamped = [request("tsa"), asked(TSA), confirmed(TSA), asked(ARTIFACT)]
    assert read(history(*stamped)).track(ARTIFACT, WITNESSES[0]).open
    facts = history(*stamped, ("document.witness.required", {}))
    assert read(facts).track(ARTIFACT, WITNESSES[0]).open is None
    running = history(request("tsa"), asked(TSA), ("document.witness.required", {}), confirmed(TSA))
    assert read(running).is_confirmed(TSA, WITNESSES[0])
    assert lifecycle(running) is Lifecycle.NEEDS_WITNESS
