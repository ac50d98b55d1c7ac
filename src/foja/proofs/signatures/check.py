"""Check a signature with its own key, and judge whether that key is trusted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from foja.errors import Malformed
from foja.proofs.budget import Budget
from foja.proofs.finding import Finding, Flaw, Reason, Status, TrustItem
from foja.proofs.keys import signs, signs_digest
from foja.proofs.signatures.cms import verify_cms
from foja.proofs.signatures.jws import verify_jws
from foja.proofs.signatures.signer import (
    MAX_BYTES,
    PURPOSES,
    Signature,
    Signer,
    check_certificate,
    given_signer,
)
from foja.proofs.tsa.certificate import Certificate
from foja.proofs.tsa.chain import find_path, root_item
from foja.proofs.tsa.revocation import Revocations, check_revocation
from foja.proofs.tsa.signature import check_identified

EVIDENCE = "signature"
NO_TIME = "when it was signed: a signature proves no time"


@dataclass(frozen=True, slots=True)
class Checked:
    """A finding, and the signer if a key signed the digest. The finding says nothing about trust."""

    finding: Finding
    signer: Signer | None = None


@dataclass(frozen=True, slots=True)
class SignerTerms:
    """Whose signatures are trusted: by public key (DER), or by a root of their certificates."""

    keys: Collection[bytes] = ()
    roots: Sequence[Certificate] = ()
    intermediates: Sequence[Certificate] = ()
    crls: Sequence[bytes] = ()
    require_revocation: bool = False
    at: datetime | None = None  # when it is judged; None: when it was recorded
    budget: Budget | None = None  # None: any cost


def check(signature: Signature, witness: bytes, at: datetime) -> Checked:
    """Return whether the signature's own key signed this digest; it was recorded at that time."""
    try:
        signer = _verify(signature, witness)
        if signer.certificate:
            check_certificate(signer.certificate, at)
    except (Flaw, Malformed) as flaw:
        return Checked(_refusal(flaw))
    return Checked(Finding(EVIDENCE, Status.VERIFIED, detail=f"{signer.name} signed the digest"), signer)


def judge(signature: Signature, witness: bytes, at: datetime, terms: SignerTerms) -> Finding:
    """Return what the signature shows to a reader who trusts these keys and roots."""
    try:
        _spend(terms, 2)
    except Flaw as flaw:
        return flaw.finding(EVIDENCE)
    checked = check(signature, witness, at)
    signer = checked.signer
    if signer is None:
        return checked.finding
    try:
        item, unknown = _check_trust(signer, at, terms)
    except Flaw as flaw:
        return replace(flaw.finding(EVIDENCE), detail=f"{checked.finding.detail}, but {flaw.detail}")
    not_checked = (NO_TIME, *(f"revocation of {name}" for name in unknown))
    return replace(checked.finding, according_to=signer.name, not_checked=not_checked, rests_on=(item,))


def _verify(signature: Signature, witness: bytes) -> Signer:
    if len(signature.value) > MAX_BYTES:
        raise Malformed(f"the signature has {len(signature.value):,} bytes; at most {MAX_BYTES:,} are read")
    if signature.format == "cms":
        return verify_cms(signature, witness)
    if signature.format == "jws":
        return verify_jws(signature, witness)
    if signature.format == "raw":
        return _verify_raw(signature, witness)
    raise Flaw(Reason.NOT_CHECKED, "it was recorded as unchecked", Status.UNSUPPORTED)


def _verify_raw(signature: Signature, witness: bytes) -> Signer:
    """Ed25519 signs the 32 bytes of the digest; ECDSA and RSA sign the document, by SHA-256."""
    signer = given_signer(signature)
    if signer is None:
        raise Malformed("a raw signature needs its key or its certificate")
    signed = signs if isinstance(signer.key, Ed25519PublicKey) else signs_digest
    if not signed(signer.key, signature.value, witness):
        raise Flaw(Reason.SIGNATURE_INVALID, f"{signer.name} did not sign this digest")
    return signer


def _check_trust(signer: Signer, at: datetime, terms: SignerTerms) -> tuple[TrustItem, Sequence[str]]:
    """Return the key or the root that you trust, and whose revocation is not known, or raise `Flaw`."""
    item = TrustItem("signer", "the public key of the signer", f"sha256:{signer.fingerprint}")
    if signer.spki in terms.keys:
        return item, ()
    if signer.certificate is None:
        detail = "you did not name this key"
        raise Flaw(Reason.SIGNER_NOT_TRUSTED, detail, Status.INDETERMINATE, (item,))
    _spend(terms, sum(each.cost for each in signer.embedded))
    others = (*(each for each in signer.embedded if not each.weak), *terms.intermediates)
    chain = find_path(signer.certificate, others, terms.roots, at, PURPOSES)
    if signer.info is not None:
        check_identified(signer.info, chain)
    _spend(terms, sum(each.cost for each in chain[1:]) * len(signer.crls + signer.ocsps))
    revocations, required = Revocations((*signer.crls, *terms.crls), signer.ocsps), terms.require_revocation
    return root_item(chain[-1]), check_revocation(chain, at, revocations, at=terms.at, required=required)


def _spend(terms: SignerTerms, units: int) -> None:
    if terms.budget is not None:
        terms.budget.spend(units)


def _refusal(flaw: Flaw | Malformed) -> Finding:
    if isinstance(flaw, Flaw):
        return flaw.finding(EVIDENCE)
    return Finding(EVIDENCE, Status.INVALID, Reason.MALFORMED, str(flaw))
