"""Sigstore and Rekor: was this digest signed and recorded in a trusted log, and by when?

R1 the signature is of this digest, by a trusted signer · R2 the log recorded exactly that ·
R3 the checkpoint is signed by the log · R4 the entry is under it · R5 a signed time: by the
log itself (version 1), or by a timestamp authority over the signature (version 2) ·
R6 if a newer checkpoint was given: the log still begins with the tree of the proof ·
R7 of a batch: the salted digest is under the root that was signed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

from foja.errors import Tampered
from foja.pure.core.note import Checkpoint, Verifier
from foja.pure.proofs.finding import Finding, Flaw, Reason, Status, TrustItem, flaw_if_tampered
from foja.pure.proofs.keys import public_key, signs, signs_digest
from foja.pure.proofs.rekor.batched import RekorProof, parse_proof
from foja.pure.proofs.rekor.body import Recorded, read_body
from foja.pure.proofs.rekor.bundle import SigstoreBundle
from foja.pure.proofs.rekor.certificate import SignerIdentity, check_certificate, read_certificate, signer_of
from foja.pure.proofs.rekor.log import Growth, check_entry, check_growth, find_log, promised_time
from foja.pure.proofs.rekor.trusted_root import TransparencyLog, TrustedRoot
from foja.pure.proofs.tsa import LOCAL_NOTICE, Terms, judge, trusted
from foja.pure.quotation import quoted

EVIDENCE = "rekor"
_NO_TERMS = Terms(roots=())
_COST = 8  # the signature, the log's promise and checkpoint, the certificate's chain and log


@dataclass(frozen=True, slots=True)
class Anchors:
    """The trusted logs and signers, and the terms for timestamps.

    `ledgers` are the logs of ledgers. None of them is a transparency log for others, whatever names its key.
    """

    roots: Sequence[TrustedRoot] = ()
    logs: Sequence[Verifier] = ()
    ledgers: Sequence[Verifier] = ()
    signers: Sequence[bytes] = ()
    identities: Sequence[SignerIdentity] = ()
    terms: Terms = _NO_TERMS
    growths: Sequence[Growth] = ()

    def all_logs(self) -> list[TransparencyLog]:
        """Return every trusted log, from trusted roots and from note keys."""
        return [*(log for root in self.roots for log in root.logs), *map(TransparencyLog.of, self.logs)]


class SignedTime(NamedTuple):
    """A time that a log or an authority signed."""

    moment: datetime
    source: str
    local: bool = False
    rests_on: tuple[TrustItem, ...] = ()


def check(data: bytes, digest: bytes, anchors: Anchors) -> Finding:
    """Return what a proof of either form shows about a SHA-256 digest. No input makes it raise."""
    try:
        return _check_proof(parse_proof(data), digest, anchors)
    except Flaw as flaw:
        return flaw.finding(EVIDENCE)
    except Tampered as error:
        return Finding(EVIDENCE, Status.INVALID, Reason.MALFORMED, str(error))


def _check_proof(proof: RekorProof, digest: bytes, anchors: Anchors) -> Finding:
    """R7: what is signed is the digest itself, or a root above it."""
    place, root = proof.place, proof.bundle.digest
    if place is None or root is None:
        return _check(proof.bundle, digest, anchors)
    with flaw_if_tampered(Reason.BATCH_ROOT_MISMATCH):
        place.check(digest, root)
    found = _check(proof.bundle, root, anchors)
    return replace(found, detail=f"{found.detail}, in a batch of {place.size}")


def _check(bundle: SigstoreBundle, digest: bytes, anchors: Anchors) -> Finding:
    if anchors.terms.budget is not None:
        anchors.terms.budget.spend(_COST)
    _check_subject(bundle, digest)
    recorded = read_body(bundle.entry)
    certificate = bundle.certificate
    key = public_key(recorded.verifier) if certificate is None else read_certificate(certificate).public_key()
    _check_signature(bundle, digest, key)
    _check_recorded(bundle, digest, recorded)
    log = find_log(bundle.entry, anchors.all_logs(), anchors.ledgers)
    checkpoint = check_entry(bundle.entry, log)
    times = _times(bundle, log, anchors)
    moments = [each.moment for each in times]
    if not all(log.period.covers(moment) for moment in moments):
        detail = f"{quoted(log.name)} was not trusted at that time"
        raise Flaw(Reason.NO_TRUST_ANCHOR, detail, Status.INDETERMINATE)
    signer, item = _check_signer(bundle, recorded, moments, anchors)
    grown = check_growth(checkpoint, log, anchors.growths)
    time = min(times, key=lambda each: each.moment)
    rests_on = (TrustItem("sigstore", log.name, f"log id {log.id.hex()}"), item, *time.rests_on)
    found = _verified(log, checkpoint, time, signer, anchors, grown)
    return replace(found, rests_on=tuple(dict.fromkeys(rests_on)))


def _check_subject(bundle: SigstoreBundle, digest: bytes) -> None:
    about = bundle.digest if bundle.envelope is None else None
    if about is not None and about != digest:
        raise Flaw(Reason.DIGEST_MISMATCH, f"the bundle is about {about.hex()}, not {digest.hex()}")
    if bundle.envelope is not None and not bundle.envelope.is_about(digest):
        raise Flaw(Reason.DIGEST_MISMATCH, f"the statement is not about {digest.hex()}")


def _check_signature(bundle: SigstoreBundle, digest: bytes, key: PublicKeyTypes) -> None:
    """R1: the signature is valid."""
    if bundle.envelope is not None:
        valid = signs(key, bundle.signature, bundle.envelope.signed())
    elif isinstance(key, EllipticCurvePublicKey | RSAPublicKey):
        valid = signs_digest(key, bundle.signature, digest)
    else:
        detail = "a signature by this type of key cannot be checked from a digest alone"
        raise Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)
    if not valid:
        raise Flaw(Reason.SIGNATURE_INVALID, "the signature does not match the content and the signer")


def _check_recorded(bundle: SigstoreBundle, digest: bytes, recorded: Recorded) -> None:
    """R2: the log recorded the same digest, signature and signer."""
    if bundle.envelope is not None:
        content = bundle.envelope.payload if recorded.of_payload else bundle.envelope.signed()
        digest = hashlib.sha256(content).digest()
    elif recorded.of_payload:
        raise Flaw(Reason.ENTRY_MISMATCH, "the log recorded a statement, but the bundle has none")
    signer_differs = bundle.certificate is not None and bundle.certificate != recorded.verifier
    if recorded.digest != digest or recorded.signature != bundle.signature or signer_differs:
        raise Flaw(Reason.ENTRY_MISMATCH, "the log recorded another digest, signature or signer")


def _times(bundle: SigstoreBundle, log: TransparencyLog, anchors: Anchors) -> list[SignedTime]:
    """R5: return every signed time, or raise `Flaw` if there is none."""
    found = []
    promised = promised_time(bundle.entry, log)
    if promised:
        found.append(SignedTime(promised, f"the log {quoted(log.name)}"))
    stamps = [_stamp(token, bundle.signature, anchors) for token in bundle.tokens]
    for stamp in stamps:
        if stamp.status is Status.VERIFIED and stamp.no_later_than:
            local = LOCAL_NOTICE in stamp.not_checked
            found.append(SignedTime(stamp.no_later_than, stamp.according_to or "", local, stamp.rests_on))
        elif stamp.status is Status.INVALID or not promised:
            detail = f"its timestamp: {stamp.detail}"
            raise Flaw(stamp.reason or Reason.MALFORMED, detail, stamp.status, stamp.missing)
    if not found:
        detail = f"{quoted(log.name)} recorded it, but no time is signed"
        raise Flaw(Reason.NO_SIGNED_TIME, detail, Status.INDETERMINATE)
    return found


def _stamp(token: bytes, signature: bytes, anchors: Anchors) -> Finding:
    """Return the best finding for a token over the signature, under any trusted authority."""
    findings = [_under(token, signature, anchors.terms)]
    for authority in (each for root in anchors.roots for each in root.timestamp_authorities):
        roots, others = trusted(authority.certificates[-1]), trusted(*authority.certificates[:-1])
        terms = replace(anchors.terms, roots=roots, intermediates=others)
        found = _under(token, signature, terms)
        if found.no_later_than is None or authority.period.covers(found.no_later_than):
            findings.append(found)
    return min(findings, key=lambda each: _PREFERENCE.index(each.status))


_PREFERENCE = (Status.VERIFIED, Status.INDETERMINATE, Status.UNSUPPORTED, Status.INVALID)


def _under(token: bytes, signature: bytes, terms: Terms) -> Finding:
    checked = judge(token, hashlib.sha256(signature).digest(), terms)
    used = checked.stamp.algorithm if checked.stamp else None
    if checked.finding.reason is Reason.IMPRINT_ALGORITHM and used in ("sha384", "sha512"):
        other = hashlib.new(used, signature).digest()
        checked = judge(token, other, replace(terms, algorithm=used))
    return checked.finding


def _check_signer(
    bundle: SigstoreBundle, recorded: Recorded, moments: Sequence[datetime], anchors: Anchors
) -> tuple[SignerIdentity | None, TrustItem]:
    """R1: return the trusted signer, unless it is only a key, and what the trust in it rests on."""
    if bundle.certificate is None:
        fingerprint = hashlib.sha256(recorded.verifier).hexdigest()
        item = TrustItem("signer", "the public key of the signer", f"sha256:{fingerprint}")
        if recorded.verifier not in anchors.signers:
            detail = f"it is signed by a key you do not trust: {fingerprint}"
            raise Flaw(Reason.SIGNER_NOT_TRUSTED, detail, Status.INDETERMINATE, (item,))
        return None, item
    certificate = read_certificate(bundle.certificate)
    item = check_certificate(certificate, bundle.issuers, moments, anchors.roots)
    signer = signer_of(certificate)
    if anchors.identities and signer not in anchors.identities:
        detail = f"its signer is {_say_signer(signer)}, not one you require"
        raise Flaw(Reason.IDENTITY_NOT_TRUSTED, detail, Status.INDETERMINATE)
    return signer, item


def _say_signer(signer: SignerIdentity) -> str:
    return f"{quoted(signer.subject)} (issuer {quoted(signer.issuer)})"


def _verified(
    log: TransparencyLog,
    checkpoint: Checkpoint,
    time: SignedTime,
    signer: SignerIdentity | None,
    anchors: Anchors,
    grown: int | None,
) -> Finding:
    by = f"signed by {_say_signer(signer)}" if signer else "signed by a key you trust"
    detail = (
        f"{by}, recorded in {quoted(checkpoint.origin)} under its checkpoint of {checkpoint.size} entries"
    )
    not_checked = [] if grown else [f"whether the log {quoted(log.name)} shows others the same checkpoint"]
    if grown:
        detail += f", which its newer one of {grown} entries extends"
    if signer and not anchors.identities:
        not_checked.append(f"whether {quoted(signer.subject)} is the expected signer")
    if time.local:
        not_checked.append(LOCAL_NOTICE)
    return Finding(EVIDENCE, Status.VERIFIED, None, detail, time.moment, time.source, tuple(not_checked))
