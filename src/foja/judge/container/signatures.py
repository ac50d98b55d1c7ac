"""S1: the signatures that the history records, each checked again over the digest of the bundle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from foja.documents.model.events import Fact
from foja.documents.model.signatures import MAX_SIGNATURES, read_signature, witness_of
from foja.errors import Malformed
from foja.judge.proof import UNEXPECTED, ProofRequest, not_judged
from foja.proofs.finding import Finding, Reason, Status
from foja.proofs.signatures import SignerTerms, judge
from foja.proofs.tsa import trusted

EVIDENCE = "signature"


def check_signatures(signed: Sequence[Fact], request: ProofRequest) -> Iterator[Finding]:
    """Yield what each signature shows; the time of its event counts for its certificate."""
    terms = _terms(request)
    for fact in signed[:MAX_SIGNATURES]:
        yield _judge(fact, request.sha256, terms)
    if left := len(signed[MAX_SIGNATURES:]):
        detail = f"{left:,} more signatures were not checked: at most {MAX_SIGNATURES} are"
        yield Finding(EVIDENCE, Status.UNSUPPORTED, Reason.NOT_CHECKED, detail)


def _terms(request: ProofRequest) -> SignerTerms:
    """Return whose signatures are trusted: the named keys, and certificates under the named roots."""
    trust = request.trust
    return SignerTerms(
        keys=frozenset(trust.signers),
        roots=trusted(*trust.roots),
        intermediates=trusted(*trust.intermediates),
        crls=trust.crls,
        require_revocation=trust.revocation_required,
        at=request.at,
        budget=request.budget,
    )


def _judge(fact: Fact, witness: bytes, terms: SignerTerms) -> Finding:
    name, payload = f"event {fact.seq}", fact.payload if isinstance(fact.payload, dict) else {}
    try:
        about, signature = witness_of(payload), read_signature(payload)
    except Malformed as error:
        return Finding(EVIDENCE, Status.INVALID, Reason.MALFORMED, str(error), name=name)
    try:
        found = judge(signature, about, fact.at, terms)
    except UNEXPECTED as error:
        found = not_judged(EVIDENCE, error)
    if about not in (b"", witness):
        but = f"but the digest is not that of this bundle: {about.hex()}"
        found = found.weakened(Reason.DIGEST_MISMATCH, but)
    if found.status is Status.UNSUPPORTED:
        found = replace(found, not_checked=(f"whether the signature of event {fact.seq} is genuine",))
    return replace(found, name=name)
