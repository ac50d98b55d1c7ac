"""Check a signature with its own key, and judge whether that key is trusted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from foja.errors import Malformed
from foja.pure.proofs.algorithms import Sunset, check_algorithms
from foja.pure.proofs.budget import Budget
from foja.pure.proofs.finding import Finding, Flaw, Reason, Status, TrustItem
from foja.pure.proofs.keys import signs, signs_digest
from foja.pure.proofs.signatures.cms import verify_cms
from foja.pure.proofs.signatures.jws import verify_jws
from foja.pure.proofs.signatures.signer import (
    MAX_BYTES,
    PURPOSES,
    Signature,
    Signer,
    check_certificate,
    given_signer,
)
from foja.pure.proofs.tsa.certificate import Certificate
from foja.pure.proofs.tsa.chain import find_path, root_item, use_of, uses_of
from foja.pure.proofs.tsa.revocation import Existence, Revocations, check_revocation
from foja.pure.proofs.tsa.signature import check_identified

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
    earliest: datetime | None = (
        None  # the earliest time by which it existed; None: the one it is judged as of
    )
    sunsets: Sequence[Sunset] = ()  # until when algorithms count
    budget: Budget | None = None  # None: any cost


def check(signature: Signature, witness: bytes, at: datetime, earliest: datetime | None = None) -> Checked:
    """Return whether the signature's own key signed this digest; it existed by that time, or `earliest`."""
    try:
        signer = _verify(signature, witness)
        if signer.certificate:
            check_certificate(signer.certificate, at, earliest or at)
    except (Flaw, Malformed) as flaw:
        return Checked(_refusal(flaw))
    return Checked(Finding(EVIDENCE, Status.VERIFIED, detail=f"{signer.name} signed the digest"), signer)


def judge(signature: Signature, witness: bytes, at: datetime, terms: SignerTerms) -> Finding:
    """Return what a signature that existed by this time shows to a reader who trusts these keys and roots."""
    try:
        _spend(terms, 2)
    except Flaw as flaw:
        return flaw.finding(EVIDENCE)
    checked = check(signature, witness, at, terms.earliest)
    signer = checked.signer
    if signer is None:
        return checked.finding
    try:
        item, unknown, remarks = _check_trust(signer, at, terms)
    except Flaw as flaw:
        return replace(flaw.finding(EVIDENCE), detail=f"{checked.finding.detail}, but {flaw.detail}")
    not_checked = (NO_TIME, *(f"revocation of {name}" for name in unknown))
    found = replace(checked.finding, according_to=signer.name, not_checked=not_checked, rests_on=(item,))
    return replace(found, remarks=remarks)


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


def _check_trust(
    signer: Signer, at: datetime, terms: SignerTerms
) -> tuple[TrustItem, Sequence[str], tuple[str, ...]]:
    """Return the key or root that you trust, whose revocation is not known, and remarks, or raise `Flaw`."""
    item = TrustItem("signer", "the public key of the signer", f"sha256:{signer.fingerprint}")
    if signer.spki in terms.keys:
        return item, (), check_algorithms(frozenset({use_of(signer.key)}), at, terms.sunsets)
    if signer.certificate is None:
        detail = "you did not name this key"
        raise Flaw(Reason.SIGNER_NOT_TRUSTED, detail, Status.INDETERMINATE, (item,))
    _spend(terms, sum(each.cost for each in signer.embedded))
    others = (*(each for each in signer.embedded if not each.weak), *terms.intermediates)
    chain = _find_path(signer.certificate, others, at, terms)
    if signer.info is not None:
        check_identified(signer.info, chain)
    _spend(terms, sum(each.cost for each in chain[1:]) * len(signer.crls + signer.ocsps))
    revocations, required = Revocations((*signer.crls, *terms.crls), signer.ocsps), terms.require_revocation
    existence = Existence(at, at, stated=False)
    standing = check_revocation(chain, existence, revocations, at=terms.at, required=required)
    hashes = (signer.info.digest_algorithm,) if signer.info else ()
    remarks = check_algorithms(uses_of(chain, hashes), at, terms.sunsets)
    return root_item(chain[-1]), standing.unknown, remarks


def _find_path(
    signer: Certificate, others: Sequence[Certificate], at: datetime, terms: SignerTerms
) -> tuple[Certificate, ...]:
    """Return the chain to a root; one that was valid before the time of judgement may have been in use."""
    try:
        return find_path(signer, others, terms.roots, at, PURPOSES)
    except Flaw as flaw:
        if flaw.reason is Reason.CERT_EXPIRED_AT_GENTIME:
            flaw.status = Status.INDETERMINATE
        raise


def _spend(terms: SignerTerms, units: int) -> None:
    if terms.budget is not None:
        terms.budget.spend(units)


def _refusal(flaw: Flaw | Malformed) -> Finding:
    if isinstance(flaw, Flaw):
        return flaw.finding(EVIDENCE)
    return Finding(EVIDENCE, Status.INVALID, Reason.MALFORMED, str(flaw))
