"""Revocation counts, whatever its source; unknown revocation is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ReasonFlags, ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID

from foja.errors import Refused
from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.tsa import Terms, judge, revocation_lists, trusted
from tests.rules.authorities import DAY, NOW, Certified, Recipe, certify, reply, root, rsa_key, signer

DIGEST = sha256(b"a sheet").digest()
ROOT = root()
TSA = signer(ROOT)
VALID = Recipe(TSA, DIGEST)
AFTER, BEFORE = NOW + DAY, NOW - DAY
SOFT = ReasonFlags.cessation_of_operation
HARD = ReasonFlags.key_compromise


def crl(
    *revoked: tuple[Certified, datetime, ReasonFlags | None],
    by: Certified = ROOT,
    name: Certified = ROOT,
    at: datetime = AFTER,
    extension: x509.ExtensionType | None = None,
    of: Certified | None = None,
) -> bytes:
    builder = x509.CertificateRevocationListBuilder().issuer_name(name.certificate.subject)
    builder = builder.last_update(at).next_update(at + 7 * DAY)
    for whom, when, why in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(whom.certificate.serial_number)
        entry = entry.revocation_date(when)
        if why:
            entry = entry.add_extension(x509.CRLReason(why), critical=False)
        if of:
            issuer = x509.CertificateIssuer([x509.DirectoryName(of.certificate.subject)])
            entry = entry.add_extension(issuer, critical=True)
        builder = builder.add_revoked_certificate(entry.build())
    if extension:
        builder = builder.add_extension(extension, critical=True)
    return builder.sign(by.key, hashes.SHA256()).public_bytes(Encoding.DER)


def point(
    *, indirect: bool = False, attributes: bool = False, reasons: frozenset[ReasonFlags] | None = None
) -> x509.IssuingDistributionPoint:
    return x509.IssuingDistributionPoint(None, None, False, False, reasons, indirect, attributes)


UNKNOWN_EXTENSION = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")


def answer(
    status: ocsp.OCSPCertStatus = ocsp.OCSPCertStatus.GOOD,
    *,
    by: Certified = ROOT,
    at: datetime = AFTER,
    when: datetime | None = None,
    why: ReasonFlags | None = None,
    issuer: Certified = ROOT,
) -> bytes:
    builder = ocsp.OCSPResponseBuilder().add_response(
        TSA.certificate, issuer.certificate, hashes.SHA1(), status, at, at + DAY, when, why
    )
    builder = builder.responder_id(ocsp.OCSPResponderEncoding.HASH, by.certificate)
    if by is not ROOT:
        builder = builder.certificates([by.certificate])
    return builder.sign(by.key, hashes.SHA256()).public_bytes(Encoding.DER)


def known(recipe: Recipe = VALID, *, crls: Sequence[bytes] = (), ocsps: Sequence[bytes] = ()) -> str:
    """Return good, unknown, REVOKED, or undecided if nothing proves that it was made before a compromise."""
    made, terms = reply(recipe), Terms(trusted(ROOT.der), crls=crls, ocsps=ocsps)
    easy = judge(made, DIGEST, terms).finding
    strict = judge(made, DIGEST, replace(terms, require_revocation=True)).finding
    if strict.status is Status.VERIFIED:
        assert not any("revocation" in each for each in easy.not_checked)
        return "good"
    if strict.reason is Reason.REVOCATION_UNKNOWN:
        assert strict.status is Status.INDETERMINATE
        assert easy.status is Status.VERIFIED
        assert "revocation of “CN=Test TSA”" in easy.not_checked
        return "unknown"
    assert easy.reason is strict.reason is Reason.REVOKED
    assert easy.status is strict.status
    return "REVOKED" if easy.status is Status.INVALID else "undecided"


def test_without_any_source_revocation_is_unknown() -> None:
    assert known() == "unknown"


LISTS = {
    "a later list without it": (crl(), "good"),
    "a list that covers the moment": (crl(at=BEFORE), "good"),
    "a list long before": (crl(at=NOW - 30 * DAY), "unknown"),
    "revoked before": (crl((TSA, BEFORE, SOFT)), "REVOKED"),
    "revoked later, no longer in use": (crl((TSA, AFTER, SOFT)), "good"),
    "revoked later, key compromised": (crl((TSA, AFTER, HARD)), "undecided"),
    "revoked later, without a reason": (crl((TSA, AFTER, None)), "undecided"),
    "on hold": (crl((TSA, BEFORE, ReasonFlags.certificate_hold)), "undecided"),
    "another certificate revoked": (crl((ROOT, BEFORE, HARD)), "good"),
    "a list signed by another key": (crl(by=root("Other")), "unknown"),
    "a list of another issuer": (crl((TSA, BEFORE, HARD), by=(o := root("Other")), name=o), "unknown"),
    "a list of changes only": (crl(extension=x509.DeltaCRLIndicator(1)), "unknown"),
    "named in a list of changes": (crl((TSA, BEFORE, HARD), extension=x509.DeltaCRLIndicator(1)), "REVOKED"),
    "taken off by a list of changes": (
        crl((TSA, BEFORE, ReasonFlags.remove_from_crl), extension=x509.DeltaCRLIndicator(1)),
        "unknown",
    ),
    "named in a list for some reasons": (
        crl((TSA, BEFORE, HARD), extension=point(reasons=frozenset({HARD}))),
        "REVOKED",
    ),
    "named in an indirect list": (crl((TSA, BEFORE, HARD), extension=point(indirect=True)), "REVOKED"),
    "an indirect list about another issuer": (
        crl((TSA, BEFORE, HARD), extension=point(indirect=True), of=root("Other")),
        "unknown",
    ),
    "named in a list with an unknown extension": (
        crl((TSA, BEFORE, HARD), extension=UNKNOWN_EXTENSION),
        "REVOKED",
    ),
    "a list of attribute certificates": (
        crl((TSA, BEFORE, HARD), extension=point(attributes=True)),
        "unknown",
    ),
    "a list made after its end": (crl(at=NOW + 301 * DAY), "unknown"),
    "not a list": (b"garbage", "unknown"),
}


@pytest.mark.parametrize("case", LISTS)
def test_lists(case: str) -> None:
    made, expected = LISTS[case]
    assert known(crls=[made]) == expected


def test_a_list_inside_the_token_counts_as_well() -> None:
    assert known(Recipe(TSA, DIGEST, crls=[crl()])) == "good"
    assert known(Recipe(TSA, DIGEST, crls=[crl((TSA, BEFORE, HARD))])) == "REVOKED"


GOOD, REVOKED, UNKNOWN = ocsp.OCSPCertStatus.GOOD, ocsp.OCSPCertStatus.REVOKED, ocsp.OCSPCertStatus.UNKNOWN
DELEGATE = certify("Delegate", ROOT, purposes=[ExtendedKeyUsageOID.OCSP_SIGNING])
OLD = certify("Delegate", ROOT, purposes=[ExtendedKeyUsageOID.OCSP_SIGNING], ends=BEFORE)
ANSWERS = {
    "good": (answer(), "good"),
    "good by a delegate": (answer(by=DELEGATE), "good"),
    "good by an unauthorized responder": (answer(by=certify("Unauthorized", ROOT)), "unknown"),
    "good by an expired delegate": (answer(by=OLD), "unknown"),
    "good by another root": (answer(by=root("Other")), "unknown"),
    "good long before": (answer(at=NOW - 30 * DAY), "unknown"),
    "about another issuer": (answer(issuer=root("Other")), "unknown"),
    "not known": (answer(UNKNOWN), "unknown"),
    "revoked before": (answer(REVOKED, when=BEFORE, why=SOFT), "REVOKED"),
    "revoked later, no longer in use": (answer(REVOKED, when=AFTER, why=SOFT), "good"),
    "revoked later, key compromised": (answer(REVOKED, when=AFTER, why=HARD), "undecided"),
    "too busy": (
        ocsp.OCSPResponseBuilder.build_unsuccessful(ocsp.OCSPResponseStatus.TRY_LATER).public_bytes(
            Encoding.DER
        ),
        "unknown",
    ),
    "not a response": (b"garbage", "unknown"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers(case: str) -> None:
    made, expected = ANSWERS[case]
    assert known(ocsps=[made]) == expected


@pytest.mark.parametrize("case", ["good", "revoked before", "too busy"])
def test_an_answer_inside_the_token_counts_as_well(case: str) -> None:
    made, expected = ANSWERS[case]
    assert known(Recipe(TSA, DIGEST, ocsps=[made])) == expected


def test_one_source_that_knows_of_a_revocation_is_enough() -> None:
    assert known(crls=[crl(), crl((TSA, BEFORE, HARD))]) == "REVOKED"
    assert known(crls=[crl()], ocsps=[answer(REVOKED, when=BEFORE, why=HARD)]) == "REVOKED"


def test_the_status_of_every_certificate_of_the_chain_is_needed() -> None:
    mid = certify("Mid", ROOT, ca=True, key=rsa_key())
    low = signer(mid)
    recipe = Recipe(low, DIGEST, embedded=[low, mid])
    of_root, of_mid = crl(), crl(by=mid, name=mid)
    assert known(recipe, crls=[of_mid, of_root]) == "good"
    roots = trusted(ROOT.der)
    only = judge(reply(recipe), DIGEST, Terms(roots=roots, crls=[of_mid], require_revocation=True)).finding
    assert only.reason is Reason.REVOCATION_UNKNOWN
    revoked = judge(
        reply(recipe), DIGEST, Terms(roots=roots, crls=[of_mid, crl((mid, BEFORE, HARD))])
    ).finding
    assert revoked.reason is Reason.REVOKED


def test_a_list_by_an_issuer_that_may_not_sign_lists_is_ignored() -> None:
    mid = certify("Mid", ROOT, ca=True, usage="key_cert_sign")
    low = signer(mid)
    made = reply(Recipe(low, DIGEST, embedded=[low, mid]))
    found = judge(
        made, DIGEST, Terms(roots=trusted(ROOT.der), crls=[crl((low, BEFORE, HARD), by=mid, name=mid)])
    )
    assert found.verified
    assert "revocation of “CN=Test TSA”" in found.finding.not_checked


def test_lists_are_given_as_files() -> None:
    der = crl()
    pem = x509.load_der_x509_crl(der).public_bytes(Encoding.PEM)
    assert revocation_lists(der, pem) == (der, der)
    with pytest.raises(Refused):
        revocation_lists(b"garbage")
