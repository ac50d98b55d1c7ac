"""Histories of documents: arbitrary ones, and the events that they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from foja.pure.models.documents.events import JOB_KINDS, NETWORKS, Evidence
from foja.pure.models.documents.rules import Policy

START = datetime(2026, 2, 26, 12, tzinfo=UTC)
WITNESSES = ("a" * 64, "b" * 64)
EVERYTHING = frozenset(Evidence)
POLICY = Policy(attempts=3)


@dataclass(frozen=True, slots=True)
class Fact:
    """An event, as rules read it."""

    seq: int
    kind: str
    at: datetime
    payload: Any


def history(*events: tuple[str, dict[str, Any]], every: float = 1.0) -> list[Fact]:
    """Return these facts, a second apart."""
    return [
        Fact(n, kind, START + timedelta(seconds=n * every), body) for n, (kind, body) in enumerate(events)
    ]


def request(
    *evidence: str, witness: str = WITNESSES[0], stage: str | None = None
) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"witness_hash": witness, "required_evidence": list(evidence)}
    return "document.protected.requested", body if stage is None else {**body, "stage": stage}


def asked(evidence: Evidence, attempt: int = 1, witness: str = WITNESSES[0]) -> tuple[str, dict[str, Any]]:
    deadline = (START + timedelta(hours=1)).isoformat()
    return JOB_KINDS[evidence], {"witness_hash": witness, "attempt": attempt, "deadline": deadline}


def confirmed(
    evidence: Evidence, attempt: int = 1, witness: str = WITNESSES[0]
) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"witness_hash": witness, "attempt": attempt}
    if evidence is Evidence.TSA:
        return "tsa.confirmed", {**body, "token_b64": "MAA=", "gen_time": START.isoformat()}
    if evidence is Evidence.REKOR:
        return "rekor.confirmed", {**body, "log_index": 7}
    if evidence is Evidence.ARTIFACT:
        return "artifact.finalized", {
            **body,
            "sha256": "c" * 64,
            "size": 1,
            "profile": "p",
            "verdict": "TOTAL_PASSED",
        }
    return "anchor.confirmed", {**body, "network": evidence.value, "confirmed_at": START.isoformat()}


def failed(
    evidence: Evidence, attempt: int = 1, witness: str = WITNESSES[0], code: str = "refused"
) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"witness_hash": witness, "attempt": attempt, "failure_code": code}
    if evidence in NETWORKS:
        return "anchor.failed", {**body, "network": evidence.value}
    return f"{evidence}.failed", body


ANYTHING = st.one_of(
    st.builds(
        lambda evidence, witness, stage: request(*evidence, witness=witness, stage=stage),
        st.lists(st.sampled_from(["tsa", "polygon", "bitcoin", "rekor"]), min_size=1, unique=True),
        st.sampled_from(WITNESSES),
        st.sampled_from([None, "initial", "intermediate", "final"]),
    ),
    st.builds(asked, st.sampled_from(Evidence), st.integers(1, 4), st.sampled_from(WITNESSES)),
    st.builds(confirmed, st.sampled_from(Evidence), st.integers(1, 4), st.sampled_from(WITNESSES)),
    st.builds(
        failed,
        st.sampled_from(Evidence),
        st.integers(1, 4),
        st.sampled_from(WITNESSES),
        st.sampled_from(["refused", "timeout", "reorged"]),
    ),
    st.sampled_from(
        [
            ("document.added", {"sha256": WITNESSES[0], "custody": "stored"}),
            ("document.signed", {}),
            ("document.witness.required", {}),
            ("document.witness.ready", {"witness_hash": WITNESSES[1]}),
            ("document.revoked", {"reason": "r"}),
            ("document.archived", {"reason": "r"}),
            ("document.added", None),
            ("anchor.submitted", {"network": "polygon", "witness_hash": WITNESSES[0], "attempt": 1}),
            ("protection.retry.requested", {"evidence": "tsa", "witness_hash": WITNESSES[0]}),
            ("body.erased", {"seq": 0, "reason": "r"}),
        ]
    ),
)
ANY_HISTORY = st.lists(ANYTHING, max_size=20).map(lambda events: history(*events))
