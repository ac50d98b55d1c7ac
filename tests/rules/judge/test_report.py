"""The verdict: one rule, tested on every mixture of findings."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.pure.judge.render import as_text
from foja.pure.judge.report import Report, Subject, Verdict, decide, instant
from foja.pure.proofs.finding import Finding, Reason, Status

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
kinds = st.sampled_from(["tsa", "bitcoin", "polygon", "rekor"])
findings = st.lists(st.builds(Finding, evidence=kinds, status=st.sampled_from(Status)), max_size=6)


def found(evidence: str, status: Status, at: datetime | None = None) -> Finding:
    return Finding(evidence, status, no_later_than=at, according_to=f"the {evidence}")


@given(findings, st.none() | st.lists(kinds, max_size=3))
def test_passing_needs_a_verified_proof_and_no_invalid_one(
    evidence: list[Finding], required: list[str] | None
) -> None:
    verdict = decide(evidence, required)
    states = {each.status for each in evidence}
    verified = {each.evidence for each in evidence if each.status is Status.VERIFIED}
    assert (verdict is Verdict.TOTAL_FAILED) == (Status.INVALID in states)
    if verdict is Verdict.TOTAL_PASSED:
        assert verified
        assert set(required or ()) <= verified


@pytest.mark.parametrize(
    ("states", "required", "verdict"),
    [
        ([], None, Verdict.INDETERMINATE),
        ([], [], Verdict.INDETERMINATE),
        ([Status.PENDING], None, Verdict.INDETERMINATE),
        ([Status.VERIFIED], None, Verdict.TOTAL_PASSED),
        ([Status.VERIFIED, Status.PENDING], None, Verdict.TOTAL_PASSED),
        ([Status.VERIFIED, Status.INDETERMINATE], None, Verdict.INDETERMINATE),
        ([Status.VERIFIED, Status.UNSUPPORTED], None, Verdict.INDETERMINATE),
        ([Status.VERIFIED, Status.INDETERMINATE], ["tsa"], Verdict.TOTAL_PASSED),
        ([Status.VERIFIED, Status.PENDING], ["tsa", "bitcoin"], Verdict.INDETERMINATE),
        ([Status.VERIFIED, Status.INVALID], ["tsa"], Verdict.TOTAL_FAILED),
    ],
)
def test_the_rule_by_example(states: list[Status], required: list[str] | None, verdict: Verdict) -> None:
    evidence = [found(kind, state) for kind, state in zip(["tsa", "bitcoin"], states, strict=False)]
    assert decide(evidence, required) is verdict


@pytest.mark.parametrize("required", [None, ["tsa"], ["seal"], ["seal", "tsa"]])
def test_nothing_passes_beside_a_seal_of_an_unknown_form(required: list[str] | None) -> None:
    evidence = [found(kind, Status.VERIFIED) for kind in ("seal", "tsa")]
    assert decide(evidence, required) is Verdict.TOTAL_PASSED
    assert decide([found("seal", Status.UNSUPPORTED), *evidence], required) is Verdict.INDETERMINATE


def test_exit_codes() -> None:
    assert [verdict.exit_code for verdict in Verdict] == [0, 2, 1]


def test_the_earliest_time_is_of_a_verified_proof() -> None:
    early = found("bitcoin", Status.INDETERMINATE, NOON - timedelta(days=2))
    middle = found("tsa", Status.VERIFIED, NOON - timedelta(days=1))
    report = Report(Subject(), (early, found("rekor", Status.VERIFIED, NOON), middle), NOON)
    assert report.earliest is middle
    assert report.document()["no_later_than"] == "2026-01-01T12:00:00Z"


def test_no_time_is_claimed_if_any_proof_is_invalid() -> None:
    mixed = (found("tsa", Status.VERIFIED, NOON), found("bitcoin", Status.INVALID))
    report = Report(Subject(), mixed, NOON)
    assert report.earliest is None
    assert report.document()["no_later_than"] is None
    assert "existed" not in as_text(report).splitlines()[0]


def test_a_time_is_written_in_utc_whatever_its_zone() -> None:
    zone = timezone(timedelta(hours=-5))
    assert instant(NOON.astimezone(zone)) == instant(NOON) == "2026-01-02T12:00:00Z"


@given(st.text() | st.just("\x1b[2J\ud800\x00\u202e"))
def test_untrusted_text_cannot_break_the_report(text: str) -> None:
    finding = Finding("tsa", Status.INVALID, Reason.MALFORMED, text, None, text, (text,), text)
    written = Report(Subject(b"\x00" * 32, text), (finding,), NOON).json()
    document = json.loads(written)
    assert document["subject"]["name"].isprintable()
    assert document["evidence"][0]["detail"].isprintable()
