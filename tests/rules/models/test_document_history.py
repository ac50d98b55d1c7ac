"""The one reading of a document's history: frozen, total, linear, with one definition of the witness."""

from __future__ import annotations

import subprocess
import sys
import time
from copy import deepcopy
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.pure.models.documents.events import DOCUMENT, Evidence
from foja.pure.models.documents.history import read
from foja.pure.models.documents.projection import project, summary
from foja.pure.models.documents.recorded import read_records
from foja.pure.models.documents.rules import decide, due
from foja.pure.models.documents.states import EvidenceStatus
from foja.pure.models.documents.track import REORGED, SUPERSEDED
from foja.pure.models.documents.view import explain, view
from tests.rules.bundles import ENTITY
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
from tests.rules.streams import stream

TSA, POLYGON, REKOR, ARTIFACT = Evidence.TSA, Evidence.POLYGON, Evidence.REKOR, Evidence.ARTIFACT
FIRST, SECOND = WITNESSES
NOW = START + timedelta(days=1)
ADDED: tuple[str, Any] = ("document.added", {"sha256": FIRST, "custody": "stored"})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10) | st.floats(0, 3) | st.sampled_from(["", "tsa", FIRST]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["tsa", "proof"]), inner, max_size=2)
    ),
    max_leaves=4,
)
FIELDS = (
    "witness_hash",
    "sha256",
    "network",
    "attempt",
    "failure_code",
    "required_evidence",
    "stage",
    "late",
)
ANY_PAYLOAD = JSON | st.dictionaries(st.sampled_from([*FIELDS, "evidence", "run_at", "deadline"]), JSON)
ANY_EVENT = st.tuples(st.sampled_from(sorted({kind.name for kind in DOCUMENT.kinds})), ANY_PAYLOAD)


def submitted(attempt: int = 1, witness: str = FIRST) -> tuple[str, dict[str, Any]]:
    return "anchor.submitted", {"network": "polygon", "witness_hash": witness, "attempt": attempt}


def test_a_history_cannot_be_changed() -> None:
    found = read(history(ADDED, request("tsa"), asked(TSA), confirmed(TSA)))
    track = found.track(TSA, FIRST)
    for value, name in ((found, "closed"), (track, "confirmed"), (track.attempts[0], "ending")):
        with pytest.raises((FrozenInstanceError, AttributeError)):
            setattr(value, name, None)
    with pytest.raises(TypeError):
        found.tracks[TSA, SECOND] = track  # type: ignore[index]
    for sequence in (found.requests, track.attempts):
        assert isinstance(sequence, tuple)


@given(ANY_HISTORY)
def test_nothing_that_reads_a_history_changes_it(facts: list[Fact]) -> None:
    found = read(facts)
    before = deepcopy((found.requests, dict(found.tracks), found.finalized, found.closed))
    for evidence in Evidence:
        for witness in (*WITNESSES, "c" * 64):
            assert found.track(evidence, witness) == found.track(evidence, witness)
    list(due(found))
    summary(facts, found)
    assert (found.requests, dict(found.tracks), found.finalized, found.closed) == before
    assert read(facts) == found


@given(st.lists(ANY_EVENT, max_size=12))
def test_any_payload_can_be_read(events: list[tuple[str, Any]]) -> None:
    facts = history(*events)
    view(ENTITY, facts, abilities=EVERYTHING, at=NOW)
    assert read(facts).length == len(facts)


@pytest.mark.parametrize(
    ("events", "witness", "rendition"),
    [
        ([], None, None),
        ([ADDED], FIRST, FIRST),
        ([("document.added", None)], None, None),
        ([ADDED, request("tsa", witness=SECOND)], SECOND, SECOND),
        ([ADDED, request("tsa"), request("tsa", witness=SECOND)], SECOND, SECOND),
        ([ADDED, ("document.signed", {"witness_hash": SECOND})], FIRST, SECOND),
        ([ADDED, request("tsa"), ("document.witness.ready", {"witness_hash": SECOND})], FIRST, SECOND),
        ([ADDED, ("document.signed", {"signer": "ana"})], FIRST, FIRST),
        ([request("tsa"), confirmed(TSA, witness=SECOND)], FIRST, FIRST),
    ],
)
def test_the_witness_is_the_digest_of_the_last_request_else_of_what_was_added(
    events: list[tuple[str, Any]], witness: str | None, rendition: str | None
) -> None:
    facts = history(*events)
    assert (read(facts).witness, read(facts).rendition) == (witness, rendition)
    assert summary(facts)["witness_hash"] == witness
    assert project(facts, abilities=EVERYTHING, at=NOW).witness_hash == witness


ANCHORING = [request("tsa", "polygon"), asked(TSA), confirmed(TSA), asked(POLYGON)]
REPLACED = [*ANCHORING, request("tsa", "polygon", witness=SECOND)]


def test_a_new_witness_supersedes_the_attempts_of_the_one_before() -> None:
    found = read(history(*REPLACED))
    track = found.track(POLYGON, FIRST)
    assert track.open is None
    [attempt] = track.attempts
    assert attempt.ending is not None
    assert (attempt.ending.code, attempt.ending.seq) == (SUPERSEDED, len(ANCHORING))
    assert found.is_confirmed(TSA, FIRST)


def test_only_the_last_request_is_due() -> None:
    needs = decide(history(*REPLACED), abilities=EVERYTHING, at=NOW, policy=POLICY)
    assert [(need.evidence, need.witness) for need in needs] == [(TSA, SECOND)]
    stamped = history(*REPLACED, asked(TSA, witness=SECOND), confirmed(TSA, witness=SECOND))
    needs = decide(stamped, abilities=EVERYTHING, at=NOW, policy=POLICY)
    assert [(need.evidence, need.witness) for need in needs] == [(POLYGON, SECOND)]


def test_a_superseded_witness_is_shown_and_explained_and_waited_for_by_none() -> None:
    shown = project(history(*REPLACED), abilities=EVERYTHING, at=NOW, policy=POLICY)
    status = {(each.evidence, each.witness_hash): each for each in shown.evidence}
    assert status[TSA, FIRST].status is EvidenceStatus.CONFIRMED
    polygon = status[POLYGON, FIRST]
    assert (polygon.status, polygon.failure_code) == (EvidenceStatus.SUPERSEDED, None)
    assert polygon.since == history(*REPLACED)[-1].at
    assert status[TSA, SECOND].status is EvidenceStatus.REQUESTED
    text = explain(shown)
    assert text.endswith(f"Superseded by a later request: the anchor on Polygon of {FIRST[:12]}….")
    assert text.count(FIRST[:12]) == 1


def test_a_superseded_witness_keeps_a_confirmation_that_comes_late() -> None:
    late = history(*REPLACED, confirmed(POLYGON))
    shown = project(late, abilities=EVERYTHING, at=NOW, policy=POLICY)
    status = {(each.evidence, each.witness_hash): each.status for each in shown.evidence}
    assert status[POLYGON, FIRST] is EvidenceStatus.CONFIRMED
    assert "Superseded" not in explain(shown)
    lost = history(*REPLACED, confirmed(POLYGON), failed(POLYGON, code=REORGED))
    needs = decide(lost, abilities=EVERYTHING, at=NOW, policy=POLICY)
    assert [(need.evidence, need.witness) for need in needs] == [(TSA, SECOND)]


def test_a_witness_that_is_requested_again_has_all_its_attempts() -> None:
    events = [request("tsa", stage="initial")]
    for attempt in (1, 2, 3):
        events += [asked(TSA, attempt), failed(TSA, attempt)]
    assert decide(history(*events), abilities=EVERYTHING, at=NOW, policy=POLICY) == []
    same = [*events, request("tsa", stage="intermediate")]
    assert decide(history(*same), abilities=EVERYTHING, at=NOW, policy=POLICY) == []
    again = [*events, request("tsa", witness=SECOND, stage="initial"), request("tsa", stage="final")]
    [need] = decide(history(*again), abilities=EVERYTHING, at=NOW, policy=POLICY)
    assert (need.witness, need.attempt) == (FIRST, 4)


def test_an_attempt_is_submitted_once() -> None:
    facts = history(*ANCHORING, submitted(), submitted())
    [attempt] = read(facts).track(POLYGON, FIRST).attempts
    assert attempt.submitted == len(ANCHORING)


def test_an_attempt_that_ended_is_not_submitted() -> None:
    facts = history(*ANCHORING, failed(POLYGON), submitted())
    [attempt] = read(facts).track(POLYGON, FIRST).attempts
    assert attempt.submitted is None


def test_a_number_is_one_attempt() -> None:
    facts = history(request("tsa"), asked(TSA), failed(TSA), asked(TSA))
    assert len(read(facts).track(TSA, FIRST).attempts) == 1


@pytest.mark.parametrize(
    "repeated",
    [
        [submitted(), failed(POLYGON, code=REORGED)],
        [("anchor.submitted", {**submitted()[1], "proof": "MAA="}), failed(POLYGON, code=REORGED)],
        [asked(TSA, number) for number in range(1, 3)],
        [request("tsa"), request("tsa", witness=SECOND)],
        [confirmed(POLYGON), failed(POLYGON, code=REORGED), ("document.revoked", {"reason": "r"})],
    ],
    ids=["submitted, reorged", "recorded, reorged", "attempts", "requests", "confirmed, reorged, closed"],
)
def test_reading_is_linear(repeated: list[tuple[str, Any]]) -> None:
    """Eight times as many events cost about eight times as much, not sixty-four times."""

    def seconds(count: int) -> float:
        events = stream("document", ENTITY, [ADDED, request("tsa", "polygon"), *repeated * count])
        taken = []
        for _ in range(3):
            began = time.process_time()
            read_records(events)
            taken.append(time.process_time() - began)
        return min(taken)

    assert seconds(4000) < 24 * seconds(500)


def test_many_open_attempts_are_ended_in_linear_time() -> None:
    def seconds(count: int) -> float:
        opened = [asked(TSA, number) for number in range(1, count)]
        facts = history(request("tsa"), *opened, *[confirmed(TSA)] * count)
        taken = []
        for _ in range(3):
            began = time.process_time()
            read(facts)
            taken.append(time.process_time() - began)
        return min(taken)

    assert seconds(8000) < 24 * seconds(1000)


def test_reading_needs_nothing_but_the_base_installation() -> None:
    """The judge reads histories too, and is installed without a server."""
    program = (
        "import sys, foja.pure.models.documents.recorded, foja.pure.judge.container.bundle;"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'pydantic', 'pydantic_settings', 'psycopg', 'redis', 'httpx', 'obstore', 'asyncio'}))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
