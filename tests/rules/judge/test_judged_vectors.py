"""Frozen proofs and their report: every version of Foja must find the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import foja
from foja.pure.judge.report import Report, Verdict

FOLDER = Path(__file__).parents[2] / "vectors" / "judged"
PROOFS = ["token.tsr", "x.evm.json", "x.ots", "x.sigstore.json"]
TRUST = ("trust.txt", "trusted_root.json", "policy.json")
AT = datetime(2026, 11, 16, 9, tzinfo=UTC)


def judged(*proofs: str, trust: Sequence[str] = TRUST) -> Report:
    return foja.verify(
        FOLDER / "document.txt",
        [FOLDER / each for each in trust],
        AT,
        proofs=[FOLDER / each for each in proofs],
        headers=[FOLDER / "block-100.hex"],
    )


def test_the_report_equals_the_frozen_one() -> None:
    report = judged(*PROOFS)
    assert report.verdict is Verdict.TOTAL_PASSED
    assert facts(report.json()) == facts((FOLDER / "report.json").read_bytes())


def facts(report: bytes) -> Any:
    """Return a report without its sentences, which may be improved, and without fields that came later."""
    document = json.loads(report)
    for name in ("headline", "history"):
        document.pop(name, None)
    for each in document["evidence"]:
        for name in ("detail", "not_checked", "rests_on", "missing"):
            each.pop(name, None)
    return document


@pytest.mark.parametrize("missing", PROOFS)
def test_every_proof_was_needed(missing: str) -> None:
    assert judged(*(each for each in PROOFS if each != missing)).verdict is Verdict.INDETERMINATE


@pytest.mark.parametrize("missing", TRUST)
def test_all_trust_was_needed(missing: str) -> None:
    report = judged(*PROOFS, trust=[each for each in TRUST if each != missing])
    assert report.verdict is not Verdict.TOTAL_PASSED
