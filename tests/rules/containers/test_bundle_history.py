"""How the history in a bundle affects its proofs and its document, and proofs over the bundle itself."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest

import foja
from foja.interfaces.certificate.page import certificate
from foja.pure.core.canonical import Json
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.render.translations import LANGUAGES
from foja.pure.judge.report import Report, Verdict
from foja.pure.proofs.finding import Finding, Reason, Status
from tests.rules import blocks
from tests.rules.bundles import NOW, TEXT, Events, Scene, Stamper
from tests.rules.pdf_text import pdf_lines
from tests.rules.stamps import HEADER, PROOF

AT = NOW + timedelta(hours=1)
DIGEST = sha256(b"document").digest()
SCENE, BLOCK = Scene(), blocks.scene()
TRUST = replace(
    SCENE.trust,
    blocks=(BLOCK.block_hash,),
    headers=((HEADER.height, HEADER.data),),
    minimum_difficulty=0,
)


def anchor(verb: str, network: str = "polygon", **more: Json) -> tuple[str, Json]:
    return f"anchor.{verb}", {"network": network, "witness_hash": DIGEST.hex(), "attempt": 1, **more}


def confirmed(network: str = "polygon") -> tuple[str, Json]:
    proof = BLOCK.anchor.encode() if network == "polygon" else PROOF
    return anchor("confirmed", network, proof=b64encode(proof).decode())


def judged(more: Events, *required: str, trust: object = TRUST) -> Report:
    events = SCENE.document_events(DIGEST, more, ("tsa", *required))
    return foja.verify(SCENE.bundle(b"document", events), trust, AT)  # type: ignore[arg-type]


def found(report: Report, evidence: str) -> list[Finding]:
    return [each for each in report.evidence if each.evidence == evidence]


REORGED = anchor("failed", failure_code="reorged")


def test_a_reorged_confirmation_does_not_count() -> None:
    assert judged([confirmed()], "polygon").verdict is Verdict.TOTAL_PASSED
    report = judged([confirmed(), REORGED], "polygon")
    assert report.verdict is Verdict.INDETERMINATE
    [lost] = found(report, "polygon")
    assert (lost.status, lost.reason) == (Status.INDETERMINATE, Reason.REORGED)
    assert lost.no_later_than is None


def test_only_the_later_confirmation_counts() -> None:
    report = judged([confirmed(), REORGED, confirmed()], "polygon")
    assert report.verdict is Verdict.TOTAL_PASSED
    assert [each.status for each in found(report, "polygon")] == [Status.INDETERMINATE, Status.VERIFIED]


def test_a_reorg_affects_only_its_network_and_its_witness() -> None:
    both = [confirmed(), confirmed("bitcoin")]
    assert judged([*both, REORGED], "bitcoin").verdict is Verdict.TOTAL_PASSED
    other = (REORGED[0], {**REORGED[1], "witness_hash": "0" * 64})  # type: ignore[dict-item]
    assert judged([confirmed(), other], "polygon").verdict is Verdict.TOTAL_PASSED
    failed = anchor("failed", failure_code="timeout")
    assert judged([failed, confirmed()], "polygon").verdict is Verdict.TOTAL_PASSED


def test_a_proof_of_a_reorged_block_fails_nothing() -> None:
    """Another block has its height now. The history records that, so the old proof does not count."""
    gone = replace(TRUST, headers=((HEADER.height, bytes(80)),))
    assert judged([confirmed("bitcoin")], trust=gone).verdict is Verdict.TOTAL_FAILED
    lost = anchor("failed", "bitcoin", failure_code="reorged")
    assert judged([confirmed("bitcoin"), lost], trust=gone).verdict is Verdict.TOTAL_PASSED


REVOKED: Events = [("document.revoked", {"reason": "a new one is valid"})]


def test_a_report_shows_that_its_document_was_revoked() -> None:
    plain, report = judged([]), judged(REVOKED)
    assert report.verdict is Verdict.TOTAL_PASSED
    assert "revoked" not in json.loads(plain.json())
    revoked = json.loads(report.json())["revoked"]
    assert (revoked["seq"], revoked["reason"]) == (4, "a new one is valid")
    assert revoked["at"].endswith("Z")
    for text in (as_text(report), as_html(report).partition("<details>")[0]):
        assert "(event 4)" in text
        assert "a new one is valid" in text
    assert "revoked" not in as_text(plain)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_certificate_shows_that_its_document_was_revoked(language: str) -> None:
    plain, revoked = (
        " ".join(pdf_lines(certificate(judged(more), language=language))) for more in ([], REVOKED)
    )
    assert "a new one is valid" in revoked
    assert "a new one is valid" not in plain


def test_a_token_over_the_bundle_itself_is_about_the_bundle() -> None:
    bundle = SCENE.bundle()
    token = SCENE.stamper.reply(sha256(bundle).digest())
    report = foja.verify(bundle, SCENE.trust, AT, proofs=[token])
    assert report.verdict is Verdict.TOTAL_PASSED
    [over] = found(report, "bundle")
    assert (over.status, over.reason) == (Status.VERIFIED, None)
    beside = foja.verify(TEXT, SCENE.trust, AT, proofs=[bundle, token])
    assert [each.status for each in found(beside, "bundle")] == [Status.VERIFIED]


def test_a_token_over_another_file_is_invalid() -> None:
    token = SCENE.stamper.reply(sha256(b"another").digest())
    report = foja.verify(SCENE.bundle(), SCENE.trust, AT, proofs=[token])
    assert report.verdict is Verdict.TOTAL_FAILED
    assert report.evidence[-1].reason is Reason.IMPRINT_MISMATCH


def test_a_token_over_the_bundle_is_not_evidence_for_the_document() -> None:
    events = SCENE.document_events(sha256(TEXT).digest())
    bundle = SCENE.bundle(events=[each for each in events if each[0] != "tsa.confirmed"])
    token = SCENE.stamper.reply(sha256(bundle).digest())
    assert foja.verify(bundle, SCENE.trust, AT, proofs=[token]).verdict is Verdict.INDETERMINATE
    foreign = Stamper().reply(sha256(bundle).digest())
    [over] = found(foja.verify(bundle, SCENE.trust, AT, proofs=[foreign]), "bundle")
    assert over.status is Status.INDETERMINATE


def stamped(nonce: Json) -> Report:
    """Judge a bundle whose event records the nonce that was sent."""
    events = SCENE.document_events(DIGEST)
    events[3] = (events[3][0], {**events[3][1], "nonce": nonce})  # type: ignore[dict-item]
    return foja.verify(SCENE.bundle(b"document", events), TRUST, AT)


def test_the_nonce_that_was_sent_is_compared() -> None:
    SCENE.document_events(DIGEST)
    sent = SCENE.stamper.serial + 1  # the scene sends the next serial number as the nonce
    report = stamped(format(sent, "x"))
    assert report.verdict is Verdict.TOTAL_PASSED
    [token] = found(report, "tsa")
    assert not any("nonce" in each for each in token.not_checked)
    report = stamped("abc")
    assert report.verdict is Verdict.TOTAL_FAILED
    assert [each.reason for each in found(report, "tsa")] == [Reason.NONCE_MISMATCH]
    [unknown] = found(judged([]), "tsa")
    assert any("nonce" in each for each in unknown.not_checked)


@pytest.mark.parametrize("nonce", ["", "0x1", "AB", "-1", "g", 5, None, "1" * 100])
def test_an_unreadable_nonce_makes_the_proof_absent(nonce: Json) -> None:
    report = stamped(nonce)
    assert report.verdict is Verdict.INDETERMINATE
    assert [each.status for each in found(report, "tsa")] == [Status.ABSENT]
