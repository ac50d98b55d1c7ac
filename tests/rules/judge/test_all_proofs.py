"""All four kinds of proof: detached, in a bundle, one missing, one corrupt, one of another document."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from datetime import timedelta

import pytest

import foja
from foja.pure.judge.container.bundle import BundleRequest, judge_bundle
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.report import Verdict
from foja.pure.proofs.finding import Status
from tests.rules.all_proofs import REQUIRED, TEXT, all_proofs, only_tsa
from tests.rules.bundles import NOW, Scene

PROOFS = all_proofs()
AT = NOW + timedelta(hours=1)


def test_in_a_bundle_and_detached() -> None:
    bundled = foja.verify(PROOFS.bundle, PROOFS.trust, AT)
    detached = foja.verify(TEXT, PROOFS.trust, AT, proofs=list(PROOFS.files.values()))
    for report in (bundled, detached):
        assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
        assert {each.evidence for each in report.evidence} >= set(REQUIRED)
        assert report.earliest is not None
        assert report.earliest.evidence == "polygon"


@pytest.mark.parametrize("kind", REQUIRED)
def test_every_one_of_them_counts(kind: str) -> None:
    others = [data for name, data in PROOFS.files.items() if name != kind]
    requiring, trust = replace(PROOFS.trust, required=REQUIRED), PROOFS.trust
    assert foja.verify(TEXT, trust, AT, proofs=others).verdict is Verdict.TOTAL_PASSED
    assert foja.verify(TEXT, requiring, AT, proofs=others).verdict is Verdict.INDETERMINATE
    corrupt = bytearray(PROOFS.files[kind])
    corrupt[len(corrupt) // 2] ^= 1
    report = foja.verify(TEXT, trust, AT, proofs=[*others, bytes(corrupt)])
    assert report.verdict is Verdict.TOTAL_FAILED
    report = foja.verify(b"another document", trust, AT, proofs=[PROOFS.files[kind]])
    assert report.verdict is Verdict.TOTAL_FAILED


def test_without_trust_nothing_passes() -> None:
    for report in (
        foja.verify(PROOFS.bundle, at=AT),
        foja.verify(TEXT, at=AT, proofs=list(PROOFS.files.values())),
    ):
        assert report.verdict is not Verdict.TOTAL_PASSED
        proofs = [each for each in report.evidence if each.evidence in REQUIRED]
        assert all(each.status is not Status.VERIFIED for each in proofs)


SWEEPS = [pytest.param(1499, id="sample"), pytest.param(1, id="all", marks=pytest.mark.long)]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("step", SWEEPS)
@pytest.mark.parametrize("kind", ["all four", "conversation", "renewed"])
def test_no_flipped_bit_of_any_bundle_passes(kind: str, step: int) -> None:
    scene = Scene()
    made = {
        "conversation": lambda: scene.seal(scene.conversation().parts()),
        "renewed": lambda: scene.renewed(0),
    }
    data, trust = (made[kind](), scene.trust) if kind in made else (PROOFS.bundle, PROOFS.trust)
    assert foja.verify(data, trust, AT).verdict is Verdict.TOTAL_PASSED
    for bit in range(random.randrange(step), 8 * len(data), step):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        report = judge_bundle(io.BytesIO(broken), BundleRequest(trust, AT))
        assert report.verdict is not Verdict.TOTAL_PASSED, bit


def test_a_timestamp_alone_is_not_the_required_evidence() -> None:
    stamped = only_tsa()
    assert foja.verify(stamped.bundle, stamped.trust, AT).verdict is Verdict.TOTAL_PASSED
    report = foja.verify(TEXT, PROOFS.trust, AT, proofs=[stamped.files["tsa"]])
    assert report.verdict is not Verdict.TOTAL_PASSED


def test_the_report_is_the_same_every_time() -> None:
    first, second = (foja.verify(PROOFS.bundle, PROOFS.trust, AT) for _ in range(2))
    assert first.json() == second.json()
    assert as_text(first) == as_text(second)
    assert as_html(first) == as_html(second)
