"""S1: the signatures that the history records, each checked again over the digest of the bundle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from foja.errors import Malformed
from foja.pure.judge.existence import Proven, with_time
from foja.pure.judge.proof import UNEXPECTED, ProofRequest, not_judged
from foja.pure.models.documents.events import Fact
from foja.pure.models.documents.signatures import MAX_SIGNATURES, read_signature, witness_of
from foja.pure.proofs.finding import Finding, Reason, Status
from foja.pure.proofs.signatures import Signature, SignerTerms, judge
from foja.pure.proofs.tsa import trusted
from foja.pure.proofs.tsa.check import CLOCK_TOLERANCE
from foja.pure.quotation import quoted

EVIDENCE = "signature"
# What an earlier time of judgement may change.
_OUTDATED = {
    Reason.CERT_EXPIRED_AT_GENTIME,
    Reason.REVOKED,
    Reason.REVOCATION_UNKNOWN,
    Reason.ALGORITHM_EXPIRED,
}


def check_signatures(
    signed: Sequence[Fact], request: ProofRequest, ledger: Finding | None = None
) -> Iterator[Finding]:
    """Yield what each signature shows, judged as of the time of the seal.

    If its certificate does not count at that time, the time of its event does, on the word of a log that you
    trust (`ledger`). Without a verified time it is judged as of the time of the verification.
    """
    terms = _terms(request)
    for fact in signed[:MAX_SIGNATURES]:
        yield _judge(fact, request, terms, _times(fact, request, ledger))
    if left := len(signed[MAX_SIGNATURES:]):
        detail = f"{left:,} more signatures were not checked: at most {MAX_SIGNATURES} are"
        yield Finding(EVIDENCE, Status.UNSUPPORTED, Reason.NOT_CHECKED, detail)


def _times(fact: Fact, request: ProofRequest, ledger: Finding | None) -> list[Proven]:
    """Return the verified times by which a signature existed, the strongest first.

    A token or an anchor over the document does not cover a signature that came to the document later.
    """
    found = [request.proven] if request.proven else []
    if ledger and ledger.status is Status.VERIFIED and fact.at <= request.at:
        logs = tuple(item for item in ledger.rests_on if item.kind == "log")
        names = ", ".join(quoted(item.name) for item in logs)
        found.append(Proven(fact.at, f"the time of event {fact.seq}, on the word of the log {names}", logs))
    return found or [Proven(request.at, "no verified time is earlier")]


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
        sunsets=trust.sunsets,
        budget=request.budget,
    )


def _judge(fact: Fact, request: ProofRequest, terms: SignerTerms, times: Sequence[Proven]) -> Finding:
    name, payload = f"event {fact.seq}", fact.payload if isinstance(fact.payload, dict) else {}
    try:
        about, signature = witness_of(payload), read_signature(payload)
    except Malformed as error:
        return Finding(EVIDENCE, Status.INVALID, Reason.MALFORMED, str(error), name=name)
    try:
        found = _judge_in_time(signature, about, terms, times)
    except UNEXPECTED as error:
        found = not_judged(EVIDENCE, error)
    if about not in (b"", request.sha256):
        but = f"but the digest is not that of this bundle: {about.hex()}"
        found = found.weakened(Reason.DIGEST_MISMATCH, but)
    if fact.at > request.at + CLOCK_TOLERANCE:
        found = found.weakened(
            Reason.AFTER_VALIDATION_TIME, "but its event is later than the time it is judged at"
        )
    if found.status is Status.UNSUPPORTED:
        found = replace(found, not_checked=(f"whether the signature of event {fact.seq} is genuine",))
    return replace(found, name=name)


def _judge_in_time(
    signature: Signature, about: bytes, terms: SignerTerms, times: Sequence[Proven]
) -> Finding:
    """Judge at each verified time until it is verified; else return what it shows at the earliest."""
    first = min(each.at for each in times)
    found = dict[datetime, Finding]()
    for time in times:
        finding = judge(signature, about, time.at, replace(terms, earliest=first))
        if finding.reason is not None and finding.reason not in _OUTDATED:
            return finding
        found[time.at] = with_time(finding, time)
        if finding.status is Status.VERIFIED:
            return found[time.at]
    return found[first]
