"""Signatures over a document's digest: those that hold, and each fault with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519
from hypothesis import given
from hypothesis import strategies as st

from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.signatures import Signature, SignerTerms, check, judge
from foja.pure.proofs.signatures.signer import MAX_BYTES
from foja.pure.proofs.tsa import trusted
from tests.rules.authorities import CODE_SIGNING, DAY, NOW, TIME_STAMPING, Certified, root
from tests.rules.signatures import (
    CONTENT,
    WITNESS,
    Sheet,
    ana,
    authority,
    certify,
    cms,
    jws,
    public,
    raw,
    rsa_key,
)

ED = ed25519.Ed25519PrivateKey.generate()
P256, P384, P521 = (ec.generate_private_key(each()) for each in (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1))
OTHER = bytes(32)
KEYS = {"Ed25519": ED, "P-256": P256, "P-384": P384, "P-521": P521, "RSA": rsa_key()}
ALGORITHMS = {
    "EdDSA": ED,
    "ES256": P256,
    "ES384": P384,
    "ES512": P521,
    "RS256": rsa_key(),
    "RS512": rsa_key(),
    "PS256": rsa_key(),
    "PS384": rsa_key(),
}


def status_of(signature: Signature, witness: bytes = WITNESS) -> tuple[Status, Reason | None]:
    finding = check(signature, witness, NOW).finding
    assert finding.detail
    return finding.status, finding.reason


VERIFIED = (Status.VERIFIED, None)


@pytest.mark.parametrize("name", KEYS)
def test_a_raw_signature_with_its_key(name: str) -> None:
    signature = Signature("raw", raw(KEYS[name]), public(KEYS[name]))
    assert status_of(signature) == VERIFIED
    assert status_of(signature, OTHER) == (Status.INVALID, Reason.SIGNATURE_INVALID)


def test_a_raw_signature_with_its_certificate() -> None:
    checked = check(Signature("raw", raw(ana().key), certificate=ana().der), WITNESS, NOW)
    assert checked.finding.status is Status.VERIFIED
    assert checked.signer
    assert checked.signer.name == "CN=Ana"


@pytest.mark.parametrize("detached", [True, False])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_jws_with_its_key(algorithm: str, detached: bool) -> None:
    key = ALGORITHMS[algorithm]
    signature = Signature("jws", jws(key, algorithm, detached=detached), public(key))
    assert status_of(signature) == VERIFIED
    expected = Reason.SIGNATURE_INVALID if detached else Reason.DIGEST_MISMATCH
    assert status_of(signature, OTHER) == (Status.INVALID, expected)


def test_a_jws_with_its_certificates() -> None:
    made = jws(ana().key, "ES256", chain=[ana(), authority()])
    assert status_of(Signature("jws", made)) == VERIFIED
    assert status_of(Signature("jws", made, certificate=ana().der)) == VERIFIED
    assert status_of(Signature("jws", made, public(P256))) == (Status.INVALID, Reason.SIGNATURE_INVALID)


@pytest.mark.parametrize("identified", [True, False])
@pytest.mark.parametrize("key", ["P-256", "RSA"])
def test_a_detached_cms(key: str, identified: bool) -> None:
    signer = certify("Ana", authority(), key=KEYS[key])
    made = cms(Sheet(signer, identified=signer if identified else None))
    assert status_of(Signature("cms", made)) == VERIFIED
    assert status_of(Signature("cms", made), OTHER) == (Status.INVALID, Reason.DIGEST_MISMATCH)
    bare = cms(Sheet(signer, embedded=[]))
    assert status_of(Signature("cms", bare)) == (Status.INDETERMINATE, Reason.SIGNER_CERTIFICATE_MISSING)
    assert status_of(Signature("cms", bare, certificate=signer.der)) == VERIFIED


def expired() -> Certified:
    return certify("Ana", authority(), ends=NOW - DAY)


def signed_by(**how: Any) -> Callable[[], Signature]:
    return lambda: Signature("cms", cms(Sheet(certify("Ana", authority(), **how))))


def sheet(**wrong: Any) -> Callable[[], Signature]:
    return lambda: Signature("cms", cms(replace(Sheet(ana()), **wrong)))


def jws_of(
    algorithm: str = "ES256", key: Any = P256, given: Any = None, **how: Any
) -> Callable[[], Signature]:
    return lambda: Signature("jws", jws(key, algorithm, **how), public(given or key))


INVALID, UNSUPPORTED, INDETERMINATE = Status.INVALID, Status.UNSUPPORTED, Status.INDETERMINATE
HOSTILE: dict[str, tuple[Callable[[], Signature], Status, Reason]] = {
    "a CMS by another key": (sheet(key=P256), INVALID, Reason.SIGNATURE_INVALID),
    "a CMS over another document": (sheet(witness=OTHER), INVALID, Reason.DIGEST_MISMATCH),
    "a CMS over a digest by another hash": (
        sheet(hashed_by="sha512"),
        UNSUPPORTED,
        Reason.ALGORITHM_UNSUPPORTED,
    ),
    "a CMS over a digest by a broken hash": (
        sheet(hashed_by="sha1"),
        UNSUPPORTED,
        Reason.ALGORITHM_UNSUPPORTED,
    ),
    "a CMS without a signed digest": (sheet(message_digest=False), INVALID, Reason.MALFORMED),
    "a CMS without a signed type": (sheet(signed_content_type=None), INVALID, Reason.MALFORMED),
    "a CMS without signed attributes": (sheet(attributes=False), INVALID, Reason.MALFORMED),
    "a CMS of another type": (sheet(content_type=b"\x2a"), INVALID, Reason.CONTENT_TYPE),
    "a CMS that claims another type": (sheet(signed_content_type=b"\x2a"), INVALID, Reason.CONTENT_TYPE),
    "a CMS with its content": (sheet(content=CONTENT), UNSUPPORTED, Reason.CONTENT_TYPE),
    "a CMS without a signer": (sheet(signers=0), UNSUPPORTED, Reason.SIGNER_COUNT),
    "a CMS with two signers": (sheet(signers=2), UNSUPPORTED, Reason.SIGNER_COUNT),
    "a CMS of a future version": (sheet(version=9), INVALID, Reason.MALFORMED),
    "a CMS for another certificate": (
        lambda: Signature("cms", cms(Sheet(ana(), identified=expired()))),
        INVALID,
        Reason.ESS_CERT_ID_MISMATCH,
    ),
    "a CMS with too many certificates": (sheet(embedded=[ana()] * 17), INVALID, Reason.MALFORMED),
    "an expired certificate": (
        lambda: Signature("cms", cms(Sheet(expired()))),
        INDETERMINATE,
        Reason.CERT_EXPIRED_AT_GENTIME,
    ),
    "a certificate of the future": (
        signed_by(begins=NOW + DAY),
        INDETERMINATE,
        Reason.CERT_NOT_YET_VALID_AT_GENTIME,
    ),
    "a certificate for timestamps": (signed_by(purposes=[TIME_STAMPING]), INVALID, Reason.EKU_INVALID),
    "a certificate for programs": (signed_by(purposes=[CODE_SIGNING]), INVALID, Reason.EKU_INVALID),
    "a certificate for encryption": (signed_by(usage="key_encipherment"), INVALID, Reason.KEY_USAGE_INVALID),
    "a certificate with an unknown condition": (
        signed_by(more=x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")),
        UNSUPPORTED,
        Reason.EXTENSION_UNSUPPORTED,
    ),
    "a short RSA key": (signed_by(key=rsa_key(1024)), UNSUPPORTED, Reason.ALGORITHM_UNSUPPORTED),
    "a raw signature of a short RSA key": (
        lambda: Signature("raw", raw(rsa_key(1024)), public(rsa_key(1024))),
        UNSUPPORTED,
        Reason.ALGORITHM_UNSUPPORTED,
    ),
    "a key of an unknown curve": (
        lambda: Signature("raw", raw(key := ec.generate_private_key(ec.SECP256K1())), public(key)),
        UNSUPPORTED,
        Reason.ALGORITHM_UNSUPPORTED,
    ),
    "a key of an unknown kind": (
        lambda: Signature("raw", b"", public(ed448.Ed448PrivateKey.generate())),
        UNSUPPORTED,
        Reason.ALGORITHM_UNSUPPORTED,
    ),
    "a raw signature without a key": (lambda: Signature("raw", raw(ED)), INVALID, Reason.MALFORMED),
    "a raw signature with a key and a certificate": (
        lambda: Signature("raw", raw(ED), public(ED), ana().der),
        INVALID,
        Reason.MALFORMED,
    ),
    "a raw signature by another key": (
        lambda: Signature("raw", raw(ED), public(ed25519.Ed25519PrivateKey.generate())),
        INVALID,
        Reason.SIGNATURE_INVALID,
    ),
    "what is not a key": (lambda: Signature("raw", b"s", b"not a key"), INVALID, Reason.MALFORMED),
    "a huge key": (lambda: Signature("raw", b"s", bytes(20_000)), INVALID, Reason.MALFORMED),
    "what is not a certificate": (lambda: Signature("raw", b"s", None, b"no"), INVALID, Reason.MALFORMED),
    "an unsigned JWS": (
        lambda: Signature("jws", b"eyJhbGciOiJub25lIn0..", public(P256)),
        INVALID,
        Reason.SIGNATURE_INVALID,
    ),
    "a JWS by a shared secret": (jws_of("HS256"), UNSUPPORTED, Reason.ALGORITHM_UNSUPPORTED),
    "a JWS by the algorithm of another key": (jws_of("RS256"), UNSUPPORTED, Reason.ALGORITHM_UNSUPPORTED),
    "a JWS by another key": (jws_of(given=ana().key), INVALID, Reason.SIGNATURE_INVALID),
    "a JWS over another payload": (
        jws_of(payload=b"anything", detached=False),
        INVALID,
        Reason.DIGEST_MISMATCH,
    ),
    "a JWS over another document": (jws_of(witness=OTHER), INVALID, Reason.SIGNATURE_INVALID),
    "a JWS without its key": (
        lambda: Signature("jws", jws(P256, "ES256")),
        INDETERMINATE,
        Reason.SIGNER_CERTIFICATE_MISSING,
    ),
    "a JWS with a condition": (jws_of(header={"crit": ["exp"]}), UNSUPPORTED, Reason.EXTENSION_UNSUPPORTED),
    "a JWS over unencoded bytes": (jws_of(header={"b64": False}), UNSUPPORTED, Reason.EXTENSION_UNSUPPORTED),
    "a JWS with what are not certificates": (jws_of(header={"x5c": ["?"]}), INVALID, Reason.MALFORMED),
    "a JWS with no certificates": (jws_of(header={"x5c": []}), INVALID, Reason.MALFORMED),
    "a JWS in two parts": (lambda: Signature("jws", b"e30.e30"), INVALID, Reason.MALFORMED),
    "a JWS that is not base64": (lambda: Signature("jws", b"e3 0..AA"), INVALID, Reason.MALFORMED),
    "a JWS whose header is a list": (lambda: Signature("jws", b"W10..AA"), INVALID, Reason.MALFORMED),
    "a JWS whose header has a key twice": (
        lambda: Signature("jws", b"eyJhIjoxLCJhIjoyfQ..AA"),
        INVALID,
        Reason.MALFORMED,
    ),
    "a deeply nested JWS": (
        lambda: Signature("jws", b"W1tb" * 10_000 + b"..AA"),
        INVALID,
        Reason.MALFORMED,
    ),
    "a huge JWS": (lambda: Signature("jws", b"A" * 70_000 + b"..AA"), INVALID, Reason.MALFORMED),
    "a huge CMS": (lambda: Signature("cms", b"0" * (MAX_BYTES + 1)), INVALID, Reason.MALFORMED),
    "a deeply nested CMS": (lambda: Signature("cms", b"\x30\x80" * 10_000), INVALID, Reason.MALFORMED),
    "what is not a CMS": (lambda: Signature("cms", b"not a signature"), INVALID, Reason.MALFORMED),
    "nothing": (lambda: Signature("cms", b""), INVALID, Reason.MALFORMED),
    "an unchecked one": (lambda: Signature("unchecked", b"not a signature"), UNSUPPORTED, Reason.NOT_CHECKED),
    "an unknown format": (lambda: Signature("xades", b"<xml/>"), UNSUPPORTED, Reason.NOT_CHECKED),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_each_fault_has_its_reason(attack: str) -> None:
    make, status, reason = HOSTILE[attack]
    signature = make()
    assert status_of(signature) == (status, reason)
    terms = SignerTerms([public(P256), public(ED)], trusted(authority().der))
    found = judge(signature, WITNESS, NOW, terms)
    assert (found.status, found.reason) == (status, reason)


def test_a_key_or_a_root_is_trusted_only_if_it_is_given() -> None:
    signature = Signature("raw", raw(ED), public(ED))
    found = judge(signature, WITNESS, NOW, SignerTerms())
    assert (found.status, found.reason) == (INDETERMINATE, Reason.SIGNER_NOT_TRUSTED)
    found = judge(signature, WITNESS, NOW, SignerTerms([public(ED)]))
    assert found.status is Status.VERIFIED
    assert found.according_to
    assert found.according_to.startswith("key sha256:")
    assert found.no_later_than is None
    certified = Signature("cms", cms(Sheet(ana(), embedded=[ana(), authority()])))
    found = judge(certified, WITNESS, NOW, SignerTerms())
    assert (found.status, found.reason) == (INDETERMINATE, Reason.ROOT_NOT_TRUSTED)
    found = judge(certified, WITNESS, NOW, SignerTerms(roots=trusted(authority().der)))
    assert (found.status, found.according_to) == (Status.VERIFIED, "CN=Ana")
    assert "revocation of “CN=Ana”" in found.not_checked


def test_a_certificate_that_only_claims_its_issuer_is_not_trusted() -> None:
    liar = certify("Ana", authority(), issuer_key=P256, key_ids=False)
    terms = SignerTerms(roots=trusted(authority().der))
    found = judge(Signature("cms", cms(Sheet(liar))), WITNESS, NOW, terms)
    assert (found.status, found.reason) == (INVALID, Reason.CHAIN_INVALID)
    stranger = certify("Ana", root("Another Root"))
    found = judge(Signature("cms", cms(Sheet(stranger))), WITNESS, NOW, terms)
    assert (found.status, found.reason) == (INDETERMINATE, Reason.NO_TRUST_ANCHOR)


@pytest.mark.parametrize("which", ["cms", "jws", "raw"])
def test_no_changed_bit_verifies(which: str) -> None:
    """Every bit is tried. CMS does not sign the version of its container, and several versions are read."""
    signature = {
        "cms": Signature("cms", SAMPLES["cms"]),
        "jws": Signature("jws", SAMPLES["jws"], public(P256)),
        "raw": Signature("raw", SAMPLES["raw"], public(ED)),
    }[which]
    verified = set()
    for place in range(len(signature.value) * 8):
        changed = bytearray(signature.value)
        changed[place // 8] ^= 1 << place % 8
        if check(signature._replace(value=bytes(changed)), WITNESS, NOW).finding.status is Status.VERIFIED:
            verified.add(bytes(changed))
    before, mark, after = signature.value.partition(b"\x02\x01\x01\x31")  # the version, and a set after it
    others = {before + bytes((2, 1, version, 0x31)) + after for version in (3, 5)}
    assert verified == (others if which == "cms" and mark else set())


SAMPLES = {"cms": cms(Sheet(ana(), identified=ana())), "jws": jws(P256, "ES256"), "raw": raw(ED)}


@given(st.sampled_from(["cms", "jws", "raw", ""]), st.binary(max_size=200), st.binary(max_size=100))
def test_no_input_raises(form: str, value: bytes, key: bytes) -> None:
    for signature in (Signature(form, value, key), Signature(form, value, None, key)):
        assert check(signature, WITNESS, NOW).finding.status is not Status.VERIFIED


def test_a_signature_is_judged_at_the_time_it_was_recorded() -> None:
    signature = Signature("cms", cms(Sheet(expired())))
    assert check(signature, WITNESS, NOW - DAY - timedelta(seconds=1)).finding.status is Status.VERIFIED
