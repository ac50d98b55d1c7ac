"""Every fault of a token has its own reason; valid tokens pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256, sha384, sha512
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from foja.pure.proofs.der import BOOLEAN, OCTETS, element, integer, oid, oid_content, plain, sequence, tagged
from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.tsa import LOCAL_NOTICE, LOCAL_POLICY, Checked, Terms, judge, trusted
from tests.rules.authorities import (
    CODE_SIGNING,
    DAY,
    NOW,
    POLICY,
    TIME_STAMPING,
    Certified,
    Recipe,
    certify,
    refusal,
    reply,
    root,
    rsa_key,
    signer,
    token,
)

DIGEST = sha256(b"a sheet").digest()
ROOT = root()
TSA = signer(ROOT)
VALID = Recipe(TSA, DIGEST)
OTHER = root("Rogue Root")
UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")


def checked(made: bytes, *roots: Certified, **terms: Any) -> Checked:
    """Check under the usual terms: our root, the nonce that was sent, shortly after the token."""
    terms = {"nonce": 7, "at": NOW + DAY, **terms}
    return judge(made, DIGEST, Terms(roots=trusted(*(each.der for each in roots or (ROOT,))), **terms))


def test_a_valid_reply_and_the_bare_token_in_it_are_verified() -> None:
    whole = checked(reply(VALID))
    assert whole.finding.status is Status.VERIFIED
    assert whole.stamp is not None
    bare = checked(whole.stamp.token)
    assert bare == whole


def test_a_token_that_was_read_before_is_checked_again() -> None:
    made = reply(VALID)
    first = checked(made)
    assert checked(made) == first
    assert first.verified
    assert checked(made, OTHER).finding.status is not Status.VERIFIED
    assert checked(made, nonce=8).finding.reason is Reason.NONCE_MISMATCH
    other = judge(made, sha256(b"another sheet").digest(), Terms(roots=trusted(ROOT.der), nonce=7))
    assert other.finding.reason is Reason.IMPRINT_MISMATCH


def test_a_timestamp_has_the_fields_of_the_token() -> None:
    found = checked(reply(VALID))
    stamp = found.stamp
    assert stamp is not None
    assert (stamp.gen_time, stamp.accuracy) == (NOW, timedelta(seconds=1))
    assert (stamp.serial, stamp.policy, stamp.nonce) == (4711, POLICY, 7)
    assert stamp.certificate_sha256 == sha256(TSA.der).hexdigest()
    assert stamp.chain == (sha256(TSA.der).hexdigest(), sha256(ROOT.der).hexdigest())
    assert stamp.chain_ends == TSA.certificate.not_valid_after_utc
    assert (stamp.authority, stamp.local) == ("CN=Test TSA", False)
    assert found.finding.no_later_than == NOW + timedelta(seconds=1)
    assert found.finding.according_to == "CN=Test TSA"


def rogue(recipe: Recipe) -> Recipe:
    """A forged CA with the name of the real one, its root embedded."""
    forged = root("Test Root", key_ids=False)
    return replace(recipe, signer=(fake := signer(forged, key_ids=False)), embedded=[fake, forged])


FAULTS: dict[str, tuple[Callable[[Recipe], Recipe], Reason]] = {
    "another digest": (lambda r: replace(r, digest=sha256(b"no").digest()), Reason.IMPRINT_MISMATCH),
    "right bytes, another algorithm": (lambda r: replace(r, algorithm="sha3-256"), Reason.IMPRINT_ALGORITHM),
    "a known algorithm of another size": (lambda r: replace(r, algorithm="sha512"), Reason.IMPRINT_ALGORITHM),
    "another nonce": (lambda r: replace(r, nonce=8), Reason.NONCE_MISMATCH),
    "no nonce": (lambda r: replace(r, nonce=None), Reason.NONCE_MISMATCH),
    "two signers": (lambda r: replace(r, signers=2), Reason.SIGNER_COUNT),
    "no signer": (lambda r: replace(r, signers=0), Reason.SIGNER_COUNT),
    "other content": (lambda r: replace(r, content_type=oid_content("1.2.3")), Reason.CONTENT_TYPE),
    "signed for other content": (
        lambda r: replace(r, signed_content_type=oid_content("1.2.3")),
        Reason.CONTENT_TYPE,
    ),
    "another version": (lambda r: replace(r, version=2), Reason.CONTENT_TYPE),
    "another content than was signed": (
        lambda r: replace(r, message_digest=b"x" * 32),
        Reason.SIGNATURE_INVALID,
    ),
    "the ESSCertID of another": (lambda r: replace(r, identified=ROOT), Reason.ESS_CERT_ID_MISMATCH),
    "no ESSCertID": (lambda r: replace(r, identified_by=None), Reason.ESS_CERT_ID_MISMATCH),
    "the issuer of another": (
        lambda r: replace(r, issuer_serial=(OTHER.issuer, TSA.certificate.serial_number)),
        Reason.ESS_CERT_ID_MISMATCH,
    ),
    "the serial of another": (
        lambda r: replace(r, issuer_serial=(TSA.issuer, 5)),
        Reason.ESS_CERT_ID_MISMATCH,
    ),
    "a purpose that is not critical": (
        lambda r: replace(r, signer=signer(ROOT, critical=False)),
        Reason.EKU_INVALID,
    ),
    "one purpose more": (
        lambda r: replace(r, signer=signer(ROOT, purposes=[TIME_STAMPING, CODE_SIGNING])),
        Reason.EKU_INVALID,
    ),
    "another purpose": (
        lambda r: replace(r, signer=signer(ROOT, purposes=[CODE_SIGNING])),
        Reason.EKU_INVALID,
    ),
    "no purpose": (lambda r: replace(r, signer=certify("Test TSA", ROOT)), Reason.EKU_INVALID),
    "a key that may not sign": (
        lambda r: replace(r, signer=signer(ROOT, usage="key_agreement")),
        Reason.KEY_USAGE_INVALID,
    ),
    "an expired signer": (
        lambda r: replace(r, signer=signer(ROOT, ends=NOW - DAY)),
        Reason.CERT_EXPIRED_AT_GENTIME,
    ),
    "a signer of the future": (
        lambda r: replace(r, signer=signer(ROOT, begins=NOW + DAY)),
        Reason.CERT_NOT_YET_VALID_AT_GENTIME,
    ),
    "an untrusted CA": (lambda r: replace(r, signer=signer(OTHER)), Reason.NO_TRUST_ANCHOR),
    "an embedded rogue root": (
        lambda r: replace(r, signer=(fake := signer(OTHER)), embedded=[fake, OTHER]),
        Reason.ROOT_NOT_TRUSTED,
    ),
    "a rogue root under the name of ours": (rogue, Reason.CHAIN_INVALID),
    "an unrelated certificate embedded": (
        lambda r: replace(r, embedded=[TSA, signer(OTHER, "Spoofed TSA")]),
        Reason.UNRELATED_CERTIFICATE,
    ),
    "a changed copy of our root": (
        lambda r: replace(
            r, embedded=[TSA, Certified(root(key=ROOT.key, issuer_key=TSA.key).certificate, None)]
        ),
        Reason.CHAIN_INVALID,
    ),
    "no certificate": (lambda r: replace(r, embedded=[]), Reason.SIGNER_CERTIFICATE_MISSING),
    "signed by another key": (
        lambda r: replace(r, signer=Certified(TSA.certificate, ec.generate_private_key(ec.SECP256R1()))),
        Reason.SIGNATURE_INVALID,
    ),
    "a critical extension": (
        lambda r: replace(
            r, extensions=element(tagged(1), sequence(oid("1.2.3"), element(BOOLEAN, b"\xff")))
        ),
        Reason.EXTENSION_UNSUPPORTED,
    ),
    "a signer with an unknown critical extension": (
        lambda r: replace(r, signer=signer(ROOT, more=UNKNOWN)),
        Reason.CHAIN_INVALID,
    ),
    "an issuer with an unknown critical extension": (
        lambda r: replace(
            r, signer=(low := signer(mid := certify("Mid", ROOT, ca=True, more=UNKNOWN))), embedded=[low, mid]
        ),
        Reason.CHAIN_INVALID,
    ),
    "a hash that it does not announce": (lambda r: replace(r, announced="sha512"), Reason.MALFORMED),
    "a short key": (
        lambda r: replace(r, signer=signer(ROOT, key=rsa_key(1024))),
        Reason.ALGORITHM_UNSUPPORTED,
    ),
    "an issuer that is not a CA": (
        lambda r: replace(r, signer=(low := signer(mid := signer(ROOT, "No CA"))), embedded=[low, mid]),
        Reason.CHAIN_INVALID,
    ),
    "a broken hash in the chain": (
        lambda r: replace(
            r,
            signer=(low := signer(mid := certify("Mid", ROOT, ca=True), by=hashes.SHA224())),
            embedded=[low, mid],
        ),
        Reason.CHAIN_INVALID,
    ),
    "an issuer for other purposes": (
        lambda r: replace(
            r,
            signer=(low := signer(mid := certify("Mid", ROOT, ca=True, purposes=[CODE_SIGNING]))),
            embedded=[low, mid],
        ),
        Reason.CHAIN_INVALID,
    ),
    "an issuer that had expired": (
        lambda r: replace(
            r,
            signer=(low := signer(mid := certify("Mid", ROOT, ca=True, ends=NOW - DAY))),
            embedded=[low, mid],
        ),
        Reason.CERT_EXPIRED_AT_GENTIME,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_its_reason(fault: str) -> None:
    change, reason = FAULTS[fault]
    found = checked(reply(change(VALID)))
    assert found.finding.status is not Status.VERIFIED
    assert found.finding.reason is reason, found.finding
    assert found.finding.detail
    assert found.finding.no_later_than is None


@pytest.mark.parametrize(
    "fault",
    ["an untrusted CA", "an embedded rogue root", "no certificate", "a rogue root under the name of ours"],
)
def test_a_chain_that_leads_elsewhere_is_unknown_and_one_that_claims_ours_is_wrong(fault: str) -> None:
    finding = checked(reply(FAULTS[fault][0](VALID))).finding
    wrong = fault == "a rogue root under the name of ours"
    assert finding.status is (Status.INVALID if wrong else Status.INDETERMINATE)


@pytest.mark.parametrize("status", [1, 2, 3, 4, 5, 9])
def test_only_granted_is_granted(status: int) -> None:
    finding = checked(refusal(status, "come back tomorrow")).finding
    assert (finding.status, finding.reason) == (Status.INVALID, Reason.STATUS_NOT_GRANTED)
    assert "come back tomorrow" in finding.detail
    assert "badRequest" in finding.detail


def test_a_token_that_was_granted_with_changes_counts() -> None:
    """`grantedWithMods` was refused; what the authority changed is seen in the token."""
    assert checked(sequence(sequence(integer(1)), token(VALID))).verified


def test_a_granted_reply_without_a_token_proves_nothing() -> None:
    assert checked(sequence(sequence(integer(0)))).finding.reason is Reason.STATUS_NOT_GRANTED


VALID_FORMS: dict[str, Callable[[Recipe], Recipe]] = {
    "P-384 with SHA-384": lambda r: replace(
        r, signer=signer(ROOT, key=ec.generate_private_key(ec.SECP384R1())), hashed_by="sha384"
    ),
    "P-256 with SHA-512": lambda r: replace(r, hashed_by="sha512"),
    "RSA": lambda r: replace(r, signer=signer(ROOT, key=rsa_key())),
    "RSA, named plainly": lambda r: replace(r, signer=signer(ROOT, key=rsa_key()), padding="plain"),
    "RSA-PSS": lambda r: replace(r, signer=signer(ROOT, key=rsa_key()), padding="pss", hashed_by="sha512"),
    "Ed25519": lambda r: replace(
        r, signer=signer(ROOT, key=ed25519.Ed25519PrivateKey.generate()), hashed_by="sha512"
    ),
    "an extension that is not critical": lambda r: replace(
        r, extensions=element(tagged(1), sequence(oid("1.2.3"), element(OCTETS, b"")))
    ),
    "ESSCertID version 1": lambda r: replace(r, identified_by="sha1"),
    "ESSCertID by SHA-512": lambda r: replace(r, identified_by="sha512"),
    "issuer and serial": lambda r: replace(r, issuer_serial=(TSA.issuer, TSA.certificate.serial_number)),
    "its root embedded": lambda r: replace(r, embedded=[TSA, ROOT]),
    "unsorted certificates": lambda r: replace(r, embedded=[ROOT, TSA]),
    "an issuer in between": lambda r: replace(
        r, signer=(low := signer(mid := certify("Mid", ROOT, ca=True, path_length=0))), embedded=[mid, low]
    ),
    "a key for digital signatures": lambda r: replace(r, signer=signer(ROOT, usage="digital_signature")),
    "a signer that ended later": lambda r: replace(r, signer=signer(ROOT, ends=NOW + timedelta(hours=1))),
    "the last second of a signer": lambda r: replace(r, signer=signer(ROOT, ends=NOW.replace(microsecond=0))),
}


@pytest.mark.parametrize("form", VALID_FORMS)
def test_every_valid_form_is_verified(form: str) -> None:
    finding = checked(reply(VALID_FORMS[form](VALID))).finding
    assert finding.status is Status.VERIFIED, finding


@pytest.mark.parametrize("by", [sha256, sha384, sha512], ids=lambda by: by.__name__)
def test_digests_of_every_size_are_stamped(by: Any) -> None:
    digest, name = by(b"a sheet").digest(), by.__name__.removeprefix("openssl_")
    made = reply(replace(VALID, digest=digest, algorithm=name))
    assert judge(made, digest, Terms(roots=trusted(ROOT.der), algorithm=name)).verified


def test_a_pinned_signer_needs_no_root() -> None:
    assert checked(reply(VALID), TSA).verified


def test_a_chain_longer_than_its_root_allows_is_refused() -> None:
    narrow = root(path_length=0)
    low = signer(mid := certify("Mid", narrow, ca=True))
    found = checked(reply(replace(VALID, signer=low, embedded=[low, mid])), narrow)
    assert found.finding.reason is Reason.CHAIN_INVALID


def test_another_issuer_of_the_same_name_does_not_hide_the_true_one() -> None:
    false, true = certify("Mid", OTHER, ca=True), certify("Mid", ROOT, ca=True)
    low = signer(true)
    found = checked(reply(replace(VALID, signer=low, embedded=[false, low, true])))
    assert found.verified, found.finding


def test_an_unknown_nonce_is_reported_as_not_checked() -> None:
    finding = checked(reply(VALID), nonce=None).finding
    assert finding.status is Status.VERIFIED
    assert any("nonce" in each for each in finding.not_checked)


def test_only_allowed_policies_and_accuracies_pass() -> None:
    assert checked(reply(VALID), policies=[POLICY]).verified
    assert checked(reply(VALID), policies=["1.2.3"]).finding.reason is Reason.POLICY_NOT_ALLOWED
    assert checked(reply(VALID), worst_accuracy=timedelta(seconds=1)).verified
    strict = checked(reply(VALID), worst_accuracy=timedelta(milliseconds=999))
    assert strict.finding.reason is Reason.ACCURACY_NOT_ALLOWED
    vague = checked(reply(replace(VALID, accuracy=b"")), worst_accuracy=DAY)
    assert vague.finding.reason is Reason.ACCURACY_NOT_ALLOWED


def test_accuracy_is_read_to_the_microsecond() -> None:
    fine = sequence(integer(2), integer(30, plain(0)), integer(4, plain(1)))
    found = checked(reply(replace(VALID, accuracy=fine)))
    assert found.stamp is not None
    assert found.stamp.accuracy == timedelta(seconds=2, milliseconds=30, microseconds=4)


def test_a_token_is_judged_at_a_time() -> None:
    early = checked(reply(VALID), at=NOW - DAY).finding
    assert (early.status, early.reason) == (Status.INDETERMINATE, Reason.AFTER_VALIDATION_TIME)
    assert checked(reply(VALID), at=NOW - timedelta(minutes=1)).verified  # clocks differ a little
    late = checked(reply(VALID), at=NOW + 400 * DAY).finding
    assert (late.status, late.reason) == (Status.INDETERMINATE, Reason.TRUST_ANCHOR_EXPIRED)
    assert checked(reply(VALID), at=None).verified


def test_a_reply_is_not_older_than_its_request() -> None:
    """The nonce shows that it was made after the request; an earlier time is false, or a clock is wrong."""
    for behind, accuracy, good in (
        (timedelta(minutes=4), 0, True),  # clocks differ a little
        (timedelta(minutes=5, seconds=1), 0, False),
        (timedelta(minutes=5, seconds=1), 1, True),  # the time it proves includes its accuracy
        (timedelta(minutes=5, seconds=2), 1, False),
        (900 * DAY, 1, False),
    ):
        recipe = replace(VALID, accuracy=sequence(integer(accuracy)) if accuracy else b"")
        found = checked(reply(recipe), since=NOW + behind).finding
        assert found.reason == (None if good else Reason.BACKDATED), behind
    assert checked(reply(VALID), at=NOW + 200 * DAY).verified, "a stored token may be of any age"


def test_a_root_that_was_renewed_counts_as_long_as_its_newest_form() -> None:
    old = root(key=ROOT.key, ends=NOW + 10 * DAY)
    for roots in ((old, ROOT), (ROOT, old)):
        assert checked(reply(VALID), *roots, at=NOW + 100 * DAY).verified
    assert checked(reply(VALID), old, at=NOW + 100 * DAY).finding.reason is Reason.TRUST_ANCHOR_EXPIRED


def test_the_local_authority_is_marked_in_every_finding() -> None:
    found = checked(reply(replace(VALID, policy=LOCAL_POLICY)))
    assert LOCAL_NOTICE in found.finding.not_checked
    assert found.stamp is not None
    assert found.stamp.local


def test_circular_issuers_end() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    one = certify("One", Certified(certify("Two", ca=True, key=key).certificate, key), ca=True, key=key)
    two = certify("Two", one, ca=True, key=key)
    low = signer(two)
    found = checked(reply(replace(VALID, signer=low, embedded=[low, one, two])))
    assert found.finding.reason is Reason.NO_TRUST_ANCHOR


def test_a_signer_that_was_valid_before_is_checked_again() -> None:
    """What is cached for a signer does not count for another time, other roots or another signature."""
    mid = certify("Mid", ROOT, ca=True, ends=NOW + 1.5 * DAY)
    made = Recipe(low := signer(mid), DIGEST, embedded=[low, mid])
    forger = Certified(low.certificate, ROOT.key)
    for _ in range(2):
        assert checked(reply(made)).verified
        assert checked(reply(replace(made, gen_time=NOW + DAY / 2))).verified
        late = checked(reply(replace(made, gen_time=NOW + 2 * DAY)), at=NOW + 3 * DAY).finding
        assert late.reason is Reason.CERT_EXPIRED_AT_GENTIME
        early = checked(reply(replace(made, gen_time=NOW - 301 * DAY))).finding
        assert early.reason is Reason.CERT_NOT_YET_VALID_AT_GENTIME
        assert checked(reply(made), OTHER).finding.reason is Reason.NO_TRUST_ANCHOR
        assert checked(reply(made), mid).verified
        assert checked(reply(replace(made, signer=forger))).finding.reason is Reason.SIGNATURE_INVALID
        assert checked(reply(replace(made, embedded=[low]))).finding.reason is Reason.NO_TRUST_ANCHOR
