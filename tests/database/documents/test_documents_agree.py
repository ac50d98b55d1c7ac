"""The guards in SQL and the fold in Python agree: the same events are refused, and the state is the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, LiteralString

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foja.pure.core.registry import BODY_ERASED, SLOT_VOIDED
from foja.pure.models.documents.events import (
    DOCUMENT,
    JOB_EVIDENCE,
    NETWORKS,
    Evidence,
    Fact,
    Stage,
    WitnessStatus,
)
from foja.pure.models.documents.history import History, read
from foja.pure.models.documents.rules import Need, Policy, needs
from foja.pure.models.documents.track import REORGED, SUPERSEDED
from tests.database.documents.papers import Paper
from tests.database.documents.test_documents_tracked import retracked
from tests.database.schema.rows import Admin
from tests.rules.document_histories import EVERYTHING, START, WITNESSES, asked, confirmed, failed, request

Event = tuple[str, dict[str, Any]]
Choose = Callable[[Sequence[Any]], Any]
POLICY = Policy(attempts=1000)
STAGES = list(Stage)
NOT_SENT = {
    "slot.voided",
    "body.erased",
    "artifact.renewed",
}
REFUSALS = {
    "already_added",
    "already_asked",
    "already_confirmed",
    "already_submitted",
    "attempt_not_open",
    "bad_payload",
    "document_closed",
    "document_final",
    "precondition_failed:missing_evidence",
    "precondition_failed:missing_request",
    "precondition_failed:missing_tsa_for_witness_hash",
    "precondition_failed:missing_witness",
    "precondition_failed:not_asked",
}
ROW: LiteralString = """
    select witness_hash, coalesce(required_evidence, '{}'), requested_seq, witness_status, finalized, closed
    from foja.document where entity_id = %s"""
ATTEMPTS: LiteralString = """
    select evidence, case evidence when 'artifact' then '' else witness_hash end, attempt, state, asked_seq,
        submitted_seq
    from foja.attempt where entity_id = %s"""
REQUESTS = [
    request("tsa", *more, witness=witness, stage=stage)
    for more in ((), ("polygon",), ("polygon", "rekor"), ("polygon", "bitcoin", "rekor"))
    for witness in WITNESSES
    for stage in (None, "initial", "final")
]


@dataclass
class Compared:
    """One document: every event is sent to SQL, and what SQL accepts is read by the fold."""

    paper: Paper
    facts: list[Fact] = field(default_factory=list)
    refusals: set[str] = field(default_factory=set)

    def send(self, kind: str, payload: dict[str, Any]) -> None:
        """Send one event; fail unless it is accepted or refused as the fold says, and the state agrees."""
        expected = is_allowed(self.facts, kind, payload)
        stored, refusal = self._append(kind, payload)
        if stored is None:
            assert refusal.startswith("FJ001")
            assert not expected, (kind, payload, refusal)
        elif stored["seq"] == len(self.facts):  # else it is an equal request, which returns the first one
            assert expected, (kind, payload)
            self.facts.append(Fact(stored["seq"], kind, datetime.fromisoformat(stored["at"]), payload))
        self.check()

    def _append(self, kind: str, payload: dict[str, Any]) -> tuple[Any, str]:
        try:
            v = DOCUMENT.newest(kind)
            return self.paper.append(kind, payload, source=source_of(kind, payload), v=v), ""
        except psycopg.Error as error:
            self.refusals.add(error.diag.message_primary or "")
            return None, f"{error.sqlstate} {error.diag.message_primary}: {error.diag.message_detail}"

    def check(self) -> None:
        """Fail unless the tables hold the state that the fold returns."""
        history, document = read(self.facts), self.paper.id
        row = self.paper.admin.execute(ROW, [document]).fetchone()
        if row is None:
            assert not self.facts
            return
        last = history.last
        assert (row[0], sorted(row[1]), row[2]) == (
            (last.witness, sorted(last.evidence), last.seq) if last else (history.witness, [], None)
        )
        assert row[3:] == (history.witness_status, history.finalized is not None, history.closed)
        attempts = self.paper.admin.execute(ATTEMPTS, [document]).fetchall()
        assert {(*row[:3], row[3] == "open", *row[4:]) for row in attempts} == {
            (*key, each.number, each.ending is None, each.seq, each.submitted)
            for key, track in history.tracks.items()
            for each in track.attempts
        }
        assert {row[:2] for row in attempts if row[3] == "confirmed"} == {
            key for key, track in history.tracks.items() if track.confirmed
        }


def is_allowed(facts: Sequence[Fact], kind: str, payload: dict[str, Any]) -> bool:
    """Return whether the fold allows this event after these."""
    history = read(facts)
    ended = history.closed or history.finalized
    if kind == "document.added":
        return not facts
    if kind in ("document.signature.started", "document.signed"):
        ready = history.closed is None and history.witness_status is WitnessStatus.READY
        return ready and (kind != "document.signed" or payload["witness_hash"] in _renditions(facts))
    if kind.startswith("document.") and kind != "document.protected.requested":
        return history.closed is None or (kind, history.closed) == ("document.archived", "revoked")
    if kind == "document.protected.requested":
        return not ended and not history.held and _is_next_request(history, payload)
    if kind in JOB_EVIDENCE:
        wanted = (kind, payload["witness_hash"], payload["attempt"])
        return wanted in [(need.kind, need.witness, need.attempt) for need in needed(history)]
    if kind == "protection.retry.requested":
        return not ended and _is_grantable(history, Evidence(payload["evidence"]), payload["witness_hash"])
    return _is_reportable(facts, history, kind, payload)


def _renditions(facts: Sequence[Fact]) -> set[str]:
    kinds = ("document.added", "document.witness.ready", "document.protected.requested")
    named = [each.payload for each in facts if each.kind in kinds]
    return {each.get("sha256") or each["witness_hash"] for each in named}


def needed(history: History) -> list[Need]:
    return needs(history, abilities=EVERYTHING, at=START, policy=POLICY)


def _is_next_request(history: History, payload: dict[str, Any]) -> bool:
    last, stage = history.last, Stage(payload.get("stage") or "final")
    evidence, witness = set(payload["required_evidence"]), payload["witness_hash"]
    if last is None or "tsa" not in evidence:
        return "tsa" in evidence
    step = STAGES.index(stage) - STAGES.index(last.stage)
    grows = evidence == set(last.evidence) if step == 0 else evidence >= set(last.evidence)
    return (
        step >= 0
        and grows
        and (witness, stage) not in [(each.witness, each.stage) for each in history.requests]
    )


def _is_grantable(history: History, evidence: Evidence, witness: str) -> bool:
    last, track = history.last, history.track(evidence, witness)
    if last is None or not track.attempts or track.confirmed:
        return False
    return evidence is Evidence.ARTIFACT or (witness == last.witness and evidence in last.evidence)


def _is_reportable(facts: Sequence[Fact], history: History, kind: str, payload: dict[str, Any]) -> bool:
    evidence = Evidence(payload.get("network") or kind.partition(".")[0])
    witness, last = payload["witness_hash"], history.last
    track = history.track(evidence, witness)
    attempt = {each.number: each for each in track.attempts}.get(payload["attempt"])
    if attempt is None or last is None:
        return False
    if evidence in NETWORKS and not history.is_confirmed(Evidence.TSA, witness):
        return False
    is_open = attempt.ending is None
    if kind == "artifact.finalized":
        return is_open and not history.closed
    if kind.endswith("confirmed"):
        return track.confirmed is None and (is_open or payload.get("late") is True)
    if payload.get("failure_code") == REORGED and evidence in NETWORKS:
        return bool(track.confirmed and facts[track.confirmed.seq].payload["attempt"] == attempt.number)
    return is_open and (kind != "anchor.submitted" or attempt.submitted is None)


def source_of(kind: str, payload: dict[str, Any]) -> str | None:
    network = "rekor" if kind == "rekor.confirmed" else payload.get("network")
    if network == "rekor" or kind == "anchor.submitted":
        return f"submit-anchor-{network}"
    return f"process-{network}-anchors" if network else None


def events_about(evidence: Evidence, attempt: int, witness: str) -> list[Event]:
    """Return every event that may concern one attempt, legal or not."""
    kind, body = confirmed(evidence, attempt, witness)
    found = [
        asked(evidence, attempt, witness),
        (kind, body),
        failed(evidence, attempt, witness),
        ("protection.retry.requested", {"evidence": evidence.value, "witness_hash": witness}),
    ]
    if evidence is not Evidence.ARTIFACT:
        found.append((kind, {**body, "late": True}))
    if evidence in NETWORKS:
        about = {"network": evidence.value, "witness_hash": witness, "attempt": attempt}
        found += [
            failed(evidence, attempt, witness, code=REORGED),
            *[("anchor.submitted", about)] * 3,
            ("anchor.timeout", {**about, "limit": START.isoformat()}),
        ]
    return found


def likely(facts: Sequence[Fact]) -> list[Event]:
    """Return events about what is needed, open or confirmed: most of them are legal."""
    history = read(facts)
    found: list[Event] = [(need.kind, need.payload()) for need in needed(history)] * 4
    if history.held:
        found += WITNESS_EVENTS[1:3] * 4
    if history.last:
        found.append(asked(Evidence.ARTIFACT, 1, history.last.witness))
    for track in history.tracks.values():
        for attempt in track.attempts[-2:]:
            found += events_about(track.evidence, attempt.number, track.witness)
    return found or [ADDED, *REQUESTS[:2]]


ADDED: Event = ("document.added", {"sha256": WITNESSES[1], "custody": "hash_only"})
WITNESS_EVENTS: list[Event] = [
    ("document.witness.required", {"reason": "r"}),
    *(("document.witness.ready", {"witness_hash": each}) for each in WITNESSES),
    ("document.signature.started", {}),
    *(("document.signed", {"witness_hash": each, "format": "unchecked"}) for each in WITNESSES),
]
CLOSINGS: list[Event] = [(f"document.{word}", {"reason": "r"}) for word in ("revoked", "archived")]
UNLIKELY: list[Event] = [
    ADDED,
    *CLOSINGS,
    *WITNESS_EVENTS,
    *REQUESTS,
    *(
        event
        for evidence in Evidence
        for attempt in (1, 2)
        for witness in WITNESSES
        for event in events_about(evidence, attempt, witness)
    ),
]


def compare(admin: Admin, choose: Choose, steps: int) -> Compared:
    """Send events, most of them legal, and compare after each."""
    paper = Paper(admin)
    paper.allow(*Evidence)
    compared = Compared(paper)
    for _ in range(steps):
        rest = [REQUESTS] * 4 + [UNLIKELY, CLOSINGS, WITNESS_EVENTS]
        events = choose([likely(compared.facts)] * 24 + rest)
        compared.send(*choose(events))
    return compared


@given(st.data())
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_guards_and_fold_agree(admin: Admin, data: st.DataObject) -> None:
    compare(admin, lambda choices: data.draw(st.sampled_from(choices)), data.draw(st.integers(1, 25)))
    assert retracked(admin) == []


def test_the_compared_histories_reach_every_kind_and_refusal(admin: Admin) -> None:
    kinds, refusals, superseded = set(), set(), set()
    for seed in range(30):
        compared = compare(admin, random.Random(seed).choice, 40)
        kinds |= {fact.kind for fact in compared.facts}
        refusals |= compared.refusals
        history = read(compared.facts)
        for track in history.tracks.values():
            codes = {each.ending.code for each in track.attempts if each.ending}
            superseded |= {track.evidence} if SUPERSEDED in codes else set()
    assert {kind.name for kind in (*DOCUMENT.kinds, SLOT_VOIDED, BODY_ERASED)} - kinds == NOT_SENT
    assert refusals >= REFUSALS, REFUSALS - refusals
    assert superseded >= {Evidence.TSA, Evidence.ARTIFACT}
    assert superseded.intersection(NETWORKS)
