"""Sigstore bundles of both versions of Rekor: real ones, ours, compared with sigstore, and forged ones."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st
from sigstore.errors import Error as SigstoreError
from sigstore.hashes import Hashed
from sigstore.models import Bundle as TheirBundle
from sigstore.models import TrustedRoot as TheirRoot
from sigstore.verify import Verifier as TheirVerifier
from sigstore.verify.policy import UnsafeNoOp
from sigstore_models.common.v1 import HashAlgorithm

from foja.errors import Refused
from foja.pure.core.note import Verifier
from foja.pure.judge.proof import ProofRequest, check_proof
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.finding import Finding, Reason, Status
from tests.rules.sigstores import DIGEST, IDENTITY, ISSUER, NOW, Change, Instance, armour, spki, text64
from tests.vectors.shared import shared

HERE = Instance()
ROOT = HERE.trusted_root()
PUBLIC = b64decode(armour("PUBLIC KEY", spki(HERE.signer)))
CERTIFICATE = HERE.certificate()
LATER = NOW + timedelta(days=1)


def judge(bundle: bytes, *trust: bytes | str, digest: bytes = DIGEST) -> Finding:
    return check_proof(bundle, ProofRequest(digest, read(trust or (ROOT, PUBLIC)), LATER))


FORMS: dict[str, dict[str, Any]] = {
    "key, version 1": {"version": 1},
    "key, version 2": {},
    "certificate, version 1": {"version": 1, "certificate": CERTIFICATE},
    "certificate, version 2": {"certificate": CERTIFICATE},
    "statement by key, version 1": {"version": 1, "statement": True},
    "statement by key, version 2": {"statement": True},
    "statement by certificate, version 1": {"version": 1, "statement": True, "certificate": CERTIFICATE},
    "statement by certificate, version 2": {"statement": True, "certificate": CERTIFICATE},
    "statement as intoto": {"version": 1, "statement": True, "kind": "intoto"},
    "statement as dsse, version 2": {"statement": True, "kind": "dsse"},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_verifies(form: str) -> None:
    found = judge(HERE.bundle(**FORMS[form]))
    assert (found.status, found.reason) == (Status.VERIFIED, None), found.detail
    assert found.no_later_than is not None
    assert abs(found.no_later_than - NOW) < timedelta(seconds=5)


@pytest.mark.parametrize("form", [form for form in FORMS if "certificate" in form])
def test_sigstore_agrees(form: str) -> None:
    bundle = HERE.bundle(**FORMS[form])
    assert judge(bundle).status is Status.VERIFIED
    their_judgement(bundle, statement="statement" in form)
    other = Instance().trusted_root()
    assert judge(bundle, other).status is not Status.VERIFIED
    with pytest.raises(SigstoreError):
        their_judgement(bundle, statement="statement" in form, root=other)


def their_judgement(bundle: bytes, *, statement: bool, root: bytes = ROOT) -> None:
    from sigstore_models.trustroot.v1 import TrustedRoot as Inner

    verifier = TheirVerifier(trusted_root=TheirRoot(Inner.from_json(root)))
    read_by_them = TheirBundle.from_json(bundle)
    if statement:
        verifier.verify_dsse(read_by_them, UnsafeNoOp())
    else:
        hashed = Hashed(algorithm=HashAlgorithm.SHA2_256, digest=DIGEST)
        verifier.verify_artifact(hashed, read_by_them, UnsafeNoOp())


def test_a_log_may_be_named_by_its_note_key() -> None:
    vkey = HERE.new_log.verifier().vkey()
    found = judge(HERE.bundle(), f"rekor:{vkey}", PUBLIC, HERE.stamper.root.pem)
    assert found.status is Status.VERIFIED


def test_the_log_of_a_ledger_is_no_rekor_log() -> None:
    """The key of a ledger satisfied a policy that requires `rekor`: the operator signed a loose proof."""
    vkey, given = HERE.new_log.verifier().vkey(), (PUBLIC, HERE.stamper.root.pem)
    for trust in ((vkey, *given), (vkey, ROOT, *given)):  # also where a trusted root names the same key
        found = judge(HERE.bundle(), *trust)
        assert (found.status, found.reason) == (Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR)
        assert "rekor:name+id+key" in found.detail
    renamed = Verifier("other.example", HERE.new_log.verifier().public_key).vkey()
    assert judge(HERE.bundle(), renamed, ROOT, *given).reason is Reason.NO_TRUST_ANCHOR
    for both in ([vkey, f"rekor:{vkey}"], [renamed, f"rekor:{vkey}"]):
        with pytest.raises(Refused, match="named twice"):
            read(both)


def test_an_identity_is_shown_and_can_be_required() -> None:
    bundle = HERE.bundle(certificate=CERTIFICATE)
    assert IDENTITY in judge(bundle).detail
    policy = {"form": "foja/policy/v1", "identities": [{"subject": IDENTITY, "issuer": ISSUER}]}
    assert judge(bundle, ROOT, json.dumps(policy)).status is Status.VERIFIED
    policy["identities"] = [{"subject": "eve@example.com", "issuer": ISSUER}]
    assert judge(bundle, ROOT, json.dumps(policy)).reason is Reason.IDENTITY_NOT_TRUSTED


def of_version(number: int, *issuers: bytes) -> Change:
    """Return the change that makes a bundle one of an older version, with a chain of certificates."""

    def change(bundle: dict[str, Any]) -> None:
        material = bundle["verificationMaterial"]
        first = material.pop("certificate")
        others = [{"rawBytes": text64(each)} for each in issuers]
        material["x509CertificateChain"] = {"certificates": [first, *others]}
        bundle["mediaType"] = f"application/vnd.dev.sigstore.bundle+json;version=0.{number}"

    return change


def test_older_bundles_have_a_chain() -> None:
    own, foreign = (each.authority.public_bytes(Encoding.DER) for each in (HERE, Instance()))
    how: dict[str, Any] = {"version": 1, "certificate": CERTIFICATE}
    for number in (1, 2):
        assert judge(HERE.bundle(**how, change=of_version(number))).status is Status.VERIFIED
        assert judge(HERE.bundle(**how, change=of_version(number, own))).status is Status.VERIFIED
        odd = judge(HERE.bundle(**how, change=of_version(number, foreign)))
        assert odd.reason is Reason.UNRELATED_CERTIFICATE
    assert judge(HERE.bundle(**how, change=of_version(3))).reason is Reason.MALFORMED
    assert judge(HERE.bundle(certificate=CERTIFICATE, change=other_form)).status is Status.UNSUPPORTED


def test_early_bundles_may_lack_a_checkpoint() -> None:
    found = judge(HERE.bundle(version=1, change=no_checkpoint))
    assert (found.status, found.reason) == (Status.INDETERMINATE, Reason.NO_INCLUSION_PROOF)


def no_checkpoint(bundle: dict[str, Any]) -> None:
    del entry_of(bundle)["inclusionProof"]["checkpoint"]


def test_an_envelope_may_name_its_key() -> None:
    found = judge(HERE.bundle(statement=True, change=named_key))
    assert found.status is Status.VERIFIED


def named_key(bundle: dict[str, Any]) -> None:
    bundle["dsseEnvelope"]["signatures"][0]["keyid"] = "SHA256:abc"


def other_form(bundle: dict[str, Any]) -> None:
    bundle["messageSignature"]["messageDigest"]["algorithm"] = "SHA2_512"


def entry_of(bundle: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = bundle["verificationMaterial"]["tlogEntries"][0]
    return found


def other_proof(bundle: dict[str, Any]) -> None:
    entry_of(bundle)["inclusionProof"]["hashes"][0] = text64(bytes(32))


def other_checkpoint(bundle: dict[str, Any]) -> None:
    foreign = Instance().bundle()
    entry_of(bundle)["inclusionProof"] = entry_of(json.loads(foreign))["inclusionProof"]


def other_root(bundle: dict[str, Any]) -> None:
    entry_of(bundle)["inclusionProof"]["rootHash"] = text64(bytes(32))


def no_proof(bundle: dict[str, Any]) -> None:
    del entry_of(bundle)["inclusionProof"]


def no_token(bundle: dict[str, Any]) -> None:
    del bundle["verificationMaterial"]["timestampVerificationData"]


def token_of_another(bundle: dict[str, Any]) -> None:
    token = text64(HERE.stamper.reply(sha256(b"another signature").digest()))
    bundle["verificationMaterial"]["timestampVerificationData"]["rfc3161Timestamps"] = [
        {"signedTimestamp": token}
    ]


def token_of_an_untrusted_authority(bundle: dict[str, Any]) -> None:
    signature = b64decode(bundle["messageSignature"]["signature"])
    token = text64(Instance().stamper.reply(sha256(signature).digest()))
    bundle["verificationMaterial"]["timestampVerificationData"]["rfc3161Timestamps"] = [
        {"signedTimestamp": token}
    ]


def other_time(bundle: dict[str, Any]) -> None:
    entry_of(bundle)["integratedTime"] = "1700000000"


def other_index(bundle: dict[str, Any]) -> None:
    entry_of(bundle)["logIndex"] = "7"


def unsigned_time(bundle: dict[str, Any]) -> None:
    del entry_of(bundle)["inclusionPromise"]


def other_digest(bundle: dict[str, Any]) -> None:
    bundle["messageSignature"]["messageDigest"]["digest"] = text64(bytes(32))


def other_signature(bundle: dict[str, Any]) -> None:
    bundle["messageSignature"]["signature"] = text64(
        b"0" + b64decode(bundle["messageSignature"]["signature"])
    )


def other_entry(bundle: dict[str, Any]) -> None:
    entry = entry_of(json.loads(HERE.bundle()))
    bundle["verificationMaterial"]["tlogEntries"] = [entry]


def unknown_field(bundle: dict[str, Any]) -> None:
    bundle["note"] = "x"


def unknown_media(bundle: dict[str, Any]) -> None:
    bundle["mediaType"] += ";v=2"


def two_entries(bundle: dict[str, Any]) -> None:
    bundle["verificationMaterial"]["tlogEntries"] *= 2


def other_certificate(bundle: dict[str, Any]) -> None:
    bundle["verificationMaterial"]["certificate"]["rawBytes"] = text64(HERE.certificate(since=NOW))


def in_body(bundle: dict[str, Any]) -> None:
    bundle["spec"]["hashedRekordV002"]["data"]["digest"] = text64(bytes(32))


UNLOGGED = HERE.certificate(logged=False)
FORGERIES: list[tuple[Finding, Reason, Status]] = [
    (judge(HERE.bundle(), digest=bytes(32)), Reason.DIGEST_MISMATCH, Status.INVALID),
    (judge(HERE.bundle(statement=True), digest=bytes(32)), Reason.DIGEST_MISMATCH, Status.INVALID),
    (judge(HERE.bundle(change=other_digest)), Reason.DIGEST_MISMATCH, Status.INVALID),
    (judge(HERE.bundle(change=other_signature)), Reason.SIGNATURE_INVALID, Status.INVALID),
    (judge(HERE.bundle(change=other_entry)), Reason.ENTRY_MISMATCH, Status.INVALID),
    (judge(HERE.bundle(change_body=in_body)), Reason.ENTRY_MISMATCH, Status.INVALID),
    (judge(HERE.bundle(change=other_proof)), Reason.INCLUSION_INVALID, Status.INVALID),
    (judge(HERE.bundle(change=other_root)), Reason.INCLUSION_INVALID, Status.INVALID),
    (judge(HERE.bundle(change=other_index)), Reason.INCLUSION_INVALID, Status.INVALID),
    (judge(HERE.bundle(change=other_checkpoint)), Reason.INCLUSION_INVALID, Status.INVALID),
    (judge(HERE.bundle(change=no_proof)), Reason.NO_INCLUSION_PROOF, Status.INDETERMINATE),
    (judge(HERE.bundle(change=no_token)), Reason.NO_SIGNED_TIME, Status.INDETERMINATE),
    (judge(HERE.bundle(tokens=0)), Reason.NO_SIGNED_TIME, Status.INDETERMINATE),
    (judge(HERE.bundle(change=token_of_another)), Reason.IMPRINT_MISMATCH, Status.INVALID),
    (judge(HERE.bundle(version=1, change=other_time)), Reason.SIGNATURE_INVALID, Status.INVALID),
    (judge(HERE.bundle(version=1, change=other_index)), Reason.SIGNATURE_INVALID, Status.INVALID),
    (judge(HERE.bundle(version=1, change=unsigned_time)), Reason.SIGNATURE_INVALID, Status.INVALID),
    (judge(HERE.bundle(change=unknown_field)), Reason.MALFORMED, Status.INVALID),
    (judge(HERE.bundle(change=unknown_media)), Reason.MALFORMED, Status.INVALID),
    (judge(HERE.bundle(change=two_entries)), Reason.MALFORMED, Status.INVALID),
    (judge(HERE.bundle(), ROOT), Reason.SIGNER_NOT_TRUSTED, Status.INDETERMINATE),
    (judge(HERE.bundle(), PUBLIC), Reason.NO_TRUST_ANCHOR, Status.INDETERMINATE),
    (judge(HERE.bundle(certificate=UNLOGGED)), Reason.CERTIFICATE_NOT_LOGGED, Status.INDETERMINATE),
    (judge(HERE.bundle(certificate=HERE.certificate(code=False))), Reason.EKU_INVALID, Status.INVALID),
    (
        judge(HERE.bundle(certificate=HERE.certificate(since=NOW - timedelta(days=1)))),
        Reason.CERT_EXPIRED_AT_GENTIME,
        Status.INVALID,
    ),
    (
        judge(HERE.bundle(certificate=CERTIFICATE, change=other_certificate)),
        Reason.ENTRY_MISMATCH,
        Status.INVALID,
    ),
]


@pytest.mark.parametrize(
    ("found", "reason", "status"), FORGERIES, ids=[str(reason) for _, reason, _ in FORGERIES]
)
def test_nothing_less_verifies(found: Finding, reason: Reason, status: Status) -> None:
    assert (found.reason, found.status) == (reason, status), found.detail


def test_a_token_of_an_untrusted_authority_is_not_accepted() -> None:
    found = judge(HERE.bundle(change=token_of_an_untrusted_authority))
    assert found.status is not Status.VERIFIED


def test_a_checkpoint_that_the_log_did_not_sign() -> None:
    foreign = Instance(signer=HERE.signer, stamper=HERE.stamper).bundle()
    renamed = json.loads(foreign)
    entry_of(renamed)["logId"] = entry_of(json.loads(HERE.bundle()))["logId"]
    note = entry_of(renamed)["inclusionProof"]["checkpoint"]
    changed = json.loads(HERE.bundle())
    entry_of(changed)["inclusionProof"]["checkpoint"]["envelope"] = note["envelope"].replace("\n5\n", "\n6\n")
    assert judge(json.dumps(changed).encode()).reason is Reason.CHECKPOINT_UNSIGNED


REAL = [
    ("bundle_v3.txt", "staging.trusted_root.json"),
    ("bundle_v3_github.whl", "prod.trusted_root.json"),
]


@pytest.mark.parametrize(("name", "root"), REAL)
def test_real_bundles(name: str, root: str) -> None:
    bundle = shared("sigstore", f"{name}.sigstore").read_bytes()
    digest = sha256(shared("sigstore", name).read_bytes()).digest()
    trust = shared("sigstore", root).read_bytes()
    assert judge(bundle, trust, digest=digest).status is Status.VERIFIED
    assert judge(bundle, PUBLIC, digest=digest).reason is Reason.NO_TRUST_ANCHOR
    for changed in flipped(bundle, step=977):
        assert judge(changed, trust, digest=digest).status is not Status.VERIFIED


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "root"), REAL)
def test_no_changed_bit_of_a_real_bundle_verifies(name: str, root: str) -> None:
    bundle = shared("sigstore", f"{name}.sigstore").read_bytes()
    digest = sha256(shared("sigstore", name).read_bytes()).digest()
    trust = shared("sigstore", root).read_bytes()
    survivors = [
        at
        for at, changed in enumerate(flipped(bundle))
        if judge(changed, trust, digest=digest).status is Status.VERIFIED
    ]
    assert survivors == []


@pytest.mark.parametrize("step", [101, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("form", ["key, version 2", "statement by certificate, version 2"])
def test_no_changed_bit_of_ours_verifies_except_in_the_hint(form: str, step: int) -> None:
    bundle = HERE.bundle(**FORMS[form])
    notify = bundle.find(b'"ana"')
    uncovered = range(notify, notify + 5) if notify > 0 else range(0)
    for at, changed in enumerate(flipped(bundle, step)):
        place = at * step // 8
        assert judge(changed).status is not Status.VERIFIED or place in uncovered, place


def flipped(data: bytes, step: int = 1) -> Iterator[bytes]:
    """Yield the data with one bit changed, for every bit, or for one in so many."""
    for at in range(0, len(data) * 8, step):
        changed = bytearray(data)
        changed[at // 8] ^= 1 << at % 8
        yield bytes(changed)


BUNDLE = json.loads(HERE.bundle())
values: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.just([]) | st.just({})
)


@given(st.data())
def test_judging_is_total(data: st.DataObject) -> None:
    document = json.loads(json.dumps(BUNDLE))
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(values)
        break
    found = judge(json.dumps(document).encode())
    assert found.status is not Status.VERIFIED or without_labels(document) == without_labels(BUNDLE)


def without_labels(document: dict[str, Any]) -> dict[str, Any]:
    """Return a bundle without its optional fields: the hint of the key, and the digest."""
    material = {**document["verificationMaterial"], "publicKey": None}
    message = {**document["messageSignature"], "messageDigest": None}
    return {**document, "verificationMaterial": material, "messageSignature": message}
