"""The judge checks the signatures in a bundle again, offline, and believes no event about them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

import foja
from foja.interfaces.certificate.page import certificate
from foja.pure.core.canonical import Json
from foja.pure.judge.container.signatures import check_signatures
from foja.pure.judge.proof import ProofRequest
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.render.notices import translate
from foja.pure.judge.report import Report, Verdict
from foja.pure.models.documents.events import Fact
from foja.pure.models.documents.signatures import MAX_SIGNATURES
from foja.pure.proofs.budget import Budget
from foja.pure.proofs.finding import Finding, Reason, Status
from tests.rules.bundles import NOW, Scene
from tests.rules.signatures import Sheet, ana, authority, certify, cms, jws, public, raw

AT = NOW + timedelta(hours=1)
TEXT = b"document"
DIGEST = sha256(TEXT).digest()
OTHER = sha256(b"another document").digest()
SCENE = Scene()
KEY, ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()


def signed(
    form: str, value: bytes | None, witness: bytes = DIGEST, **fields: bytes | str
) -> tuple[str, Json]:
    body: dict[str, Json] = {"witness_hash": witness.hex(), "format": form}
    for name, given in {"signature_b64": value, **fields}.items():
        if given is not None:
            body[name] = given if isinstance(given, str) else b64encode(given).decode()
    return "document.signed", body


def judged(*events: tuple[str, Json], **trust: Any) -> Report:
    history = SCENE.document_events(DIGEST, [*events])
    return foja.verify(SCENE.bundle(TEXT, history), replace(SCENE.trust, **trust), AT)


def found(report: Report) -> list[Finding]:
    return [each for each in report.evidence if each.evidence == "signature"]


GOOD = {
    "cms": signed("cms", cms(Sheet(ana(), DIGEST, embedded=[ana(), authority()]))),
    "jws": signed("jws", jws(KEY, "ES256", DIGEST), key_b64=public(KEY)),
    "ed25519": signed("raw", raw(ED, DIGEST), key_b64=public(ED)),
    "ecdsa": signed("raw", raw(ana().key, DIGEST), certificate_b64=ana().der),
}
TRUSTED: Mapping[str, Any] = {
    "signers": (public(KEY), public(ED)),
    "roots": (*SCENE.trust.roots, authority().der),
}


@pytest.mark.parametrize("form", GOOD)
def test_a_signature_is_verified_if_its_signer_is_trusted(form: str) -> None:
    report = judged(GOOD[form], **TRUSTED)
    [finding] = found(report)
    assert (finding.status, finding.name) == (Status.VERIFIED, "event 4")
    assert finding.according_to
    assert finding.no_later_than is None
    assert report.verdict is Verdict.TOTAL_PASSED
    assert "✓ Signature over the document (event 4): verified" in as_text(report)


@pytest.mark.parametrize("form", GOOD)
def test_a_signer_in_the_bundle_is_not_trusted_for_being_there(form: str) -> None:
    report = judged(GOOD[form])
    [finding] = found(report)
    assert finding.status is Status.INDETERMINATE
    assert finding.according_to is None
    assert report.verdict is Verdict.TOTAL_PASSED  # of what was required; a policy may require signatures
    required = judged(GOOD[form], required=("signature",))
    assert required.verdict is Verdict.INDETERMINATE
    assert judged(GOOD[form], required=("signature",), **TRUSTED).verdict is Verdict.TOTAL_PASSED


def wrong_key() -> tuple[str, Json]:
    return signed("raw", raw(ED, DIGEST), key_b64=public(KEY))


HOSTILE = {
    "by another key": (wrong_key(), Reason.SIGNATURE_INVALID),
    "over another digest": (signed("cms", cms(Sheet(ana(), OTHER))), Reason.DIGEST_MISMATCH),
    "junk": (signed("cms", b"not a signature"), Reason.MALFORMED),
    "not base64": (signed("cms", None, signature_b64="not a signature"), Reason.MALFORMED),
    "no signature": (signed("raw", None, key_b64=public(ED)), Reason.MALFORMED),
    "alg none": (signed("jws", b"eyJhbGciOiJub25lIn0..", key_b64=public(KEY)), Reason.SIGNATURE_INVALID),
    "no digest": (("document.signed", {"format": "cms", "witness_hash": 7}), Reason.MALFORMED),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_an_invalid_signature_fails_the_bundle_whatever_its_event_claims(attack: str) -> None:
    (kind, body), reason = HOSTILE[attack]
    assert isinstance(body, dict)
    claimed = {**body, "checked": True, "status": "VERIFIED", "signer": "Ana"}
    report = judged((kind, claimed), **TRUSTED)
    [finding] = found(report)
    assert (finding.status, finding.reason) == (Status.INVALID, reason)
    assert report.verdict is Verdict.TOTAL_FAILED


@pytest.mark.parametrize(
    "event",
    [
        signed("unchecked", b"a scan", signer="Ana"),
        signed("unchecked", None),
        signed("xades", b"<xml/>"),
        ("document.signed", {"signature_b64": "not a signature"}),  # version 1
        ("document.signed", {}),
    ],
)
def test_an_unchecked_signature_is_reported_as_unchecked(event: tuple[str, Json]) -> None:
    report = judged(event, **TRUSTED)
    [finding] = found(report)
    assert (finding.status, finding.reason) == (Status.UNSUPPORTED, Reason.NOT_CHECKED)
    assert finding.not_checked == ("whether the signature of event 4 is genuine",)
    assert translate(finding.not_checked[0], "es") == "si la firma del evento 4 es auténtica"
    assert report.verdict is Verdict.TOTAL_PASSED
    for text in (as_text(report), as_html(report)):
        assert "it was recorded as unchecked" in text
    assert judged(event, required=("signature",)).verdict is Verdict.INDETERMINATE


def test_a_signature_over_another_rendition_proves_nothing_about_this_one() -> None:
    report = judged(signed("raw", raw(ED, OTHER), OTHER, key_b64=public(ED)), **TRUSTED)
    [finding] = found(report)
    assert (finding.status, finding.reason) == (Status.INDETERMINATE, Reason.DIGEST_MISMATCH)
    assert OTHER.hex() in finding.detail


def test_a_certificate_is_judged_at_the_time_of_the_event() -> None:
    ends = datetime(2025, 11, 15, tzinfo=UTC)  # the events are of the day after
    late = certify("Ana", authority(), ends=ends)
    [finding] = found(judged(signed("cms", cms(Sheet(late, DIGEST))), **TRUSTED))
    assert (finding.status, finding.reason) == (Status.INDETERMINATE, Reason.CERT_EXPIRED_AT_GENTIME)
    since = certify("Ana", authority(), ends=ends + timedelta(days=5))
    [finding] = found(judged(signed("cms", cms(Sheet(since, DIGEST))), **TRUSTED))
    assert finding.status is Status.VERIFIED  # it has expired since, but not before it was recorded


def test_the_number_of_signatures_that_are_checked_is_limited() -> None:
    events = [signed("raw", raw(ED, DIGEST), key_b64=public(ED), signer=str(n)) for n in range(2000)]
    findings = found(judged(*events, **TRUSTED))
    assert len(findings) == MAX_SIGNATURES + 1
    assert (findings[-1].status, findings[-1].reason) == (Status.UNSUPPORTED, Reason.NOT_CHECKED)
    assert f"{2000 - MAX_SIGNATURES:,} more" in findings[-1].detail


def test_a_signer_may_name_only_certificates_of_its_chain() -> None:
    sheet = Sheet(ana(), DIGEST, identified=ana(), also_identified=[authority()])
    [finding] = found(judged(signed("cms", cms(sheet)), **TRUSTED))
    assert finding.status is Status.VERIFIED
    stranger = replace(sheet, also_identified=[authority(), certify("Eva", authority())])
    [finding] = found(judged(signed("cms", cms(stranger)), **TRUSTED))
    assert (finding.status, finding.reason) == (Status.INVALID, Reason.ESS_CERT_ID_MISMATCH)


def test_signatures_share_the_budget_of_all_proofs() -> None:
    kind, body = GOOD["cms"]
    facts = [Fact(seq, kind, NOW, body) for seq in range(3)]
    trust = replace(SCENE.trust, **TRUSTED)
    # Each costs two operations, and one for each of the two certificates in it.
    first, second, third = check_signatures(facts, ProofRequest(DIGEST, trust, AT, budget=Budget(7)))
    assert first.status is Status.VERIFIED
    for each in (second, third):
        assert (each.status, each.reason) == (Status.INDETERMINATE, Reason.TOO_COSTLY)


def test_a_report_names_what_the_trust_in_a_signature_rests_on() -> None:
    [by_root] = found(judged(GOOD["cms"], **TRUSTED))
    [by_key] = found(judged(GOOD["jws"], **TRUSTED))
    assert [each.kind for each in (*by_root.rests_on, *by_key.rests_on)] == ["root", "signer"]
    [unknown] = found(judged(GOOD["jws"]))
    assert unknown.missing == by_key.rests_on
    assert translate(by_key.detail, "es").endswith("firmó la huella")


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_certificate_shows_signatures(language: str) -> None:
    report = judged(GOOD["ed25519"], signed("unchecked", None), **TRUSTED)
    assert certificate(report, language=language)
