"""Certificates, signatures and algorithms are judged as of the earliest verified time that covers them."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from cryptography.x509 import DeltaCRLIndicator, ReasonFlags

import foja
from foja.engine.embedded.tsa.issuer import new_root
from foja.errors import Refused
from foja.pure.core.bundle import assembly
from foja.pure.core.bundle.archive import write
from foja.pure.judge.detached import Detached
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.render.headline import headline
from foja.pure.judge.render.notices import translate
from foja.pure.judge.report import Report, Verdict
from foja.pure.judge.trust import Trust
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.finding import Finding, Reason, Status
from tests.rules.authorities import Certified, Recipe, certify, reply, root, rsa_key, signer, token
from tests.rules.authorities import replace as changed
from tests.rules.bundles import NOW, Scene, Stamper
from tests.rules.containers.test_bundle_signatures import DIGEST, signed
from tests.rules.proofs.test_tsa_revocation import crl
from tests.rules.signatures import Sheet, authority, cms

DAY, YEAR = timedelta(days=1), timedelta(days=365)
PASSED, UNDECIDED, FAILED = Verdict.TOTAL_PASSED, Verdict.INDETERMINATE, Verdict.TOTAL_FAILED
HARD, SOFT = ReasonFlags.key_compromise, ReasonFlags.superseded
RECORDED = NOW - YEAR  # when the events of the scenes say that they were recorded


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene()


def of(identity: Any) -> Certified:
    return Certified(identity.certificate, identity.key)


def listed(stamper: Stamper, when: datetime, why: ReasonFlags, **how: Any) -> bytes:
    """Return a list that names the signer of an authority as revoked."""
    above = of(stamper.root)
    return crl((of(stamper.signer), when, why), by=above, name=above, at=when + DAY, **how)


def finding(report: Report, evidence: str) -> Finding:
    return next(each for each in report.evidence if each.evidence == evidence)


def facts(found: Finding) -> tuple[Status, Reason | None]:
    return found.status, found.reason


@pytest.mark.parametrize(
    ("when", "why", "verdict"),
    [(400, HARD, PASSED), (200, HARD, UNDECIDED), (400, SOFT, PASSED), (200, SOFT, PASSED)],
    ids=["compromised after", "compromised before", "superseded after", "superseded before"],
)
def test_a_renewal_keeps_what_was_stamped_before_a_compromise(
    scene: Scene, when: int, why: ReasonFlags, verdict: Verdict
) -> None:
    """A bundle was "not valid" when the first authority was compromised after another one had renewed it."""
    younger = Stamper(new_root(NOW))
    trust = replace(
        scene.trust,
        roots=(*scene.trust.roots, younger.root.der),
        crls=(listed(scene.stamper, NOW + when * DAY, why),),
    )
    report = foja.verify(scene.renewed(300, younger), trust, NOW + 500 * DAY)
    assert report.verdict is verdict
    first, second = (each for each in report.evidence if each.evidence == "seal")
    assert second.status is Status.VERIFIED
    assert first.remarks[0].startswith("judged as of ")
    assert "META-INF/timestamp001.tst" in first.remarks[0]
    assert verdict is PASSED or facts(first) == (Status.INDETERMINATE, Reason.REVOKED)
    assert "unchanged copy" not in as_text(report)


def test_a_compromised_authority_without_a_renewal_is_undecided(scene: Scene) -> None:
    trust = replace(scene.trust, crls=(listed(scene.stamper, NOW + DAY, HARD),))
    report = foja.verify(scene.bundle(), trust, NOW + 2 * DAY)
    assert report.verdict is UNDECIDED
    assert facts(finding(report, "seal")) == (Status.INDETERMINATE, Reason.REVOKED)


def test_an_anchor_over_a_bundle_keeps_it_past_a_compromise(scene: Scene) -> None:
    """A proof over the bytes of the bundle shows by when its seal existed."""
    other, bundle = root("Other", begins=NOW - YEAR), scene.bundle()
    made = Recipe(signer(other, begins=NOW - YEAR), sha256(bundle).digest(), gen_time=NOW + DAY)
    proof = Detached(token(made), "bundle.tsr")
    for compromised, verdict in ((2, PASSED), (0, UNDECIDED)):
        lists = (listed(scene.stamper, NOW + compromised * DAY + DAY / 2, HARD),)
        trust = replace(scene.trust, roots=(*scene.trust.roots, other.der), crls=lists)
        report = foja.verify(bundle, trust, NOW + 9 * DAY, proofs=[proof])
        assert report.verdict is verdict
        assert "the time of “bundle.tsr”" in finding(report, "seal").remarks[0]


def test_a_list_of_changes_that_names_an_authority_counts(scene: Scene) -> None:
    """A list of changes that named the authority as compromised was ignored."""
    trust = replace(
        scene.trust, crls=(listed(scene.stamper, NOW - DAY, HARD, extension=DeltaCRLIndicator(1)),)
    )
    report = foja.verify(b"x", trust, NOW + DAY, proofs=[scene.stamper.reply(sha256(b"x").digest())])
    assert facts(report.evidence[0]) == (Status.INVALID, Reason.REVOKED)


def judged(scene: Scene, whose: Certified, **trust: Any) -> Finding:
    """Return what a signature by this certificate shows; the trust may be without the log, or more."""
    events = scene.document_events(DIGEST, [signed("cms", cms(Sheet(whose, DIGEST)))])
    full = replace(scene.trust, roots=(*scene.trust.roots, authority().der), required=("tsa", "signature"))
    return finding(
        foja.verify(scene.bundle(b"document", events), replace(full, **trust), NOW + DAY), "signature"
    )


def test_a_signature_is_judged_as_of_the_seal_and_not_of_its_event(scene: Scene) -> None:
    """A certificate that had ended passed, because an untrusted ledger said when it was used."""
    ended = certify("Ana", authority(), begins=NOW - 2 * YEAR, ends=NOW - YEAR / 2)
    assert facts(judged(scene, ended, logs=())) == (Status.INDETERMINATE, Reason.CERT_EXPIRED_AT_GENTIME)
    on_its_word = judged(scene, ended)
    assert on_its_word.status is Status.VERIFIED
    assert "on the word of the log “log.example/1”" in on_its_word.remarks[0]
    assert [each.kind for each in on_its_word.rests_on] == ["root", "log"]
    valid = judged(scene, certify("Ana", authority(), begins=NOW - 2 * YEAR), logs=())
    assert valid.status is Status.VERIFIED
    assert "META-INF/timestamp.tst" in valid.remarks[0]


def test_a_list_that_names_a_signer_before_the_earliest_proof_counts(scene: Scene) -> None:
    """A list of two years before was ignored, because the event stated a time before it."""
    ana = certify("Ana", authority(), begins=NOW - 3 * YEAR)
    top = authority()
    later = crl((ana, NOW - YEAR / 2, SOFT), by=top, name=top, at=NOW)
    found = judged(scene, ana, logs=(), crls=(later,))
    assert facts(found) == (Status.INDETERMINATE, Reason.REVOKED)
    assert (
        judged(scene, ana, crls=(later,)).status is Status.VERIFIED
    )  # on the word of the log, a year before
    earlier = crl((ana, NOW - 2 * YEAR, SOFT), by=top, name=top, at=NOW)
    assert facts(judged(scene, ana, crls=(earlier,))) == (Status.INDETERMINATE, Reason.REVOKED)
    after = crl((ana, NOW + DAY / 2, HARD), by=top, name=top, at=NOW + DAY)
    assert judged(scene, ana, logs=(), crls=(after,)).status is Status.VERIFIED


def test_without_a_verified_time_a_signature_is_judged_as_of_now(scene: Scene) -> None:
    roots = {"roots": (authority().der,), "logs": ()}
    valid = judged(scene, certify("Ana", authority()), **roots)
    assert valid.remarks[0].endswith("no verified time is earlier")
    ended = certify("Ana", authority(), begins=NOW - 2 * YEAR, ends=NOW - DAY)
    assert facts(judged(scene, ended, **roots)) == (Status.INDETERMINATE, Reason.CERT_EXPIRED_AT_GENTIME)


def test_an_old_certificate_of_an_authority_is_mentioned_and_not_green() -> None:
    """A token of an authority whose certificate had ended, or was superseded, was green without a word."""
    top = root(begins=NOW - YEAR, ends=NOW + 9 * YEAR)
    tsa = signer(top, begins=NOW - YEAR, ends=NOW + YEAR)
    proof = token(Recipe(tsa, sha256(b"x").digest(), gen_time=NOW))
    superseded = crl((tsa, NOW + DAY, SOFT), by=top, name=top, at=NOW + 2 * DAY)
    young = foja.verify(b"x", Trust(roots=(top.der,)), NOW + DAY, proofs=[proof])
    assert headline(young).tone == "passed"
    for at, lists, word in (
        (NOW + 2 * YEAR, (), "ended on"),
        (NOW + 3 * DAY, (superseded,), "was revoked on"),
    ):
        report = foja.verify(b"x", Trust(roots=(top.der,), crls=lists), at, proofs=[proof])
        assert report.verdict is PASSED
        assert headline(report).tone == "caution"
        assert word in report.evidence[0].remarks[0]
        assert "What rests on it: Timestamp of an authority." in as_text(report)
        for shown in (as_text(report, "es"), as_html(report, "es")):
            assert "certificado antiguo: el de “CN=Test TSA”" in shown


def test_what_a_reader_does_not_allow_is_not_called_invalid(scene: Scene) -> None:
    """A policy, an accuracy or an old hash made a genuine token "not valid"."""
    top = root(begins=NOW - YEAR)
    made = Recipe(signer(top, begins=NOW - YEAR), sha256(b"x").digest(), gen_time=NOW)
    cases: list[tuple[Recipe, dict[str, Any], Status, Reason]] = [
        (made, {"timestamp_policies": ("1.2.3",)}, Status.INDETERMINATE, Reason.POLICY_NOT_ALLOWED),
        (made, {"worst_accuracy_ms": 1}, Status.INDETERMINATE, Reason.ACCURACY_NOT_ALLOWED),
        (changed(made, algorithm="sha1", digest=bytes(20)), {}, Status.UNSUPPORTED, Reason.IMPRINT_ALGORITHM),
    ]
    for recipe, terms, status, reason in cases:
        report = foja.verify(b"x", Trust(roots=(top.der,), **terms), NOW + DAY, proofs=[reply(recipe)])
        assert facts(report.evidence[0]) == (status, reason)
        assert report.verdict is UNDECIDED
        assert "unchanged copy" not in as_text(report)


def packed(files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return data.getvalue()


def test_a_zip_of_another_kind_is_not_called_a_broken_bundle(scene: Scene) -> None:
    """Any ZIP with a folder `evidence/` was "not valid", and so was one with a bundle in it."""
    with zipfile.ZipFile(io.BytesIO(scene.bundle())) as bundle:
        again = {name: bundle.read(name) for name in sorted(bundle.namelist())}
    cases = [
        (packed({"evidence/photo.jpg": b"a photo", "a.txt": b"a"}), "containers of other makers"),
        (packed({"contract.asice": scene.bundle()}), "unpack it"),
        (packed(again, zipfile.ZIP_DEFLATED), "packed them again"),
    ]
    for data, words in cases:
        report = foja.verify(data, scene.trust, NOW + DAY)
        assert facts(report.evidence[0]) == (Status.UNSUPPORTED, Reason.UNKNOWN_PROOF)
        assert words in report.evidence[0].detail
        assert report.verdict is UNDECIDED
    assert foja.verify(scene.bundle(), scene.trust, NOW + DAY).verdict is PASSED


def stamped(at: datetime, *trust: str | bytes) -> Finding:
    top = root("Old", begins=NOW - YEAR, ends=NOW + 9 * YEAR)
    tsa = signer(top, key=rsa_key(2048), begins=NOW - YEAR, ends=NOW + 9 * YEAR)
    proof = token(Recipe(tsa, sha256(b"x").digest(), gen_time=NOW))
    return foja.verify(b"x", [top.pem, *trust], at, proofs=[proof]).evidence[0]


def test_algorithms_count_until_a_date_that_the_trust_states() -> None:
    """The dates of the standard are remarks; a date in the trust, or its policy, decides."""
    until = f"algorithm-until:rsa<3000:{NOW + YEAR:%Y-%m-%d}"
    plain = stamped(NOW + 2 * YEAR)
    assert plain.status is Status.VERIFIED
    assert plain.remarks == (
        "algorithm: ETSI TS 119 312 does not recommend rsa keys of fewer than 3000 bits since 2026-01-01",
    )
    assert translate(plain.remarks[0], "es").startswith(
        "algoritmo: ETSI TS 119 312 no recomienda claves rsa de menos de 3000"
    )
    before = stamped(NOW + DAY, until)
    assert (before.status, before.remarks) == (Status.VERIFIED, ())
    policy = json.dumps({"form": "foja/policy/v1", "algorithms": [until.partition(":")[2]]})
    for trust in (until, policy, "algorithm-until:ts-119-312"):
        assert facts(stamped(NOW + 2 * YEAR, trust)) == (Status.INDETERMINATE, Reason.ALGORITHM_EXPIRED)
    assert (
        stamped(NOW + 2 * YEAR, "algorithm-until:ts-119-312", until.replace("2027", "2090")).status
        is Status.VERIFIED
    )
    for wrong in (
        "algorithm-until:rsa<3000:soon",
        "algorithm-until:sha256<9:2030-01-01",
        "algorithm-until:2030-01-01",
    ):
        with pytest.raises(Refused, match="cannot be read"):
            read([wrong])
    with pytest.raises(Refused, match="two dates"):
        read([until, until.replace("2027", "2090")])


def test_a_renewal_keeps_an_algorithm_that_ended_later(scene: Scene) -> None:
    """An algorithm is judged as of the time by which the token over it is proven to exist."""
    lasts: dict[str, Any] = {"begins": NOW - YEAR, "ends": NOW + YEAR}
    top = root("Old", **lasts)
    tsa = signer(top, key=rsa_key(2048), **lasts)
    parts = scene.contents().parts()
    listing = sha256(assembly.listing(parts)).digest()
    sealed = assembly.seal(parts, token(Recipe(tsa, listing, gen_time=NOW)))
    renewal = scene.stamper.token(sha256(assembly.listing(sealed, 1)).digest(), NOW + 100 * DAY)
    until = read([f"algorithm-until:rsa<3000:{NOW + 200 * DAY:%Y-%m-%d}"]).sunsets
    trust = replace(scene.trust, roots=(*scene.trust.roots, top.der), sunsets=until)
    alone = foja.verify(b"".join(write(sealed)), trust, NOW + 300 * DAY)
    assert facts(finding(alone, "seal")) == (Status.INDETERMINATE, Reason.ALGORITHM_EXPIRED)
    renewed = b"".join(write(assembly.seal(sealed, renewal, 1)))
    assert foja.verify(renewed, trust, NOW + 300 * DAY).verdict is PASSED
