"""Judge one proof file: find its kind by its content, and what it shows about a digest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from foja.errors import NotCanonical
from foja.pure.core.bundle.evidence_record import BLINDING_BYTES
from foja.pure.core.proof import HEADER as LOG_PROOF
from foja.pure.core.proof import RECEIPT
from foja.pure.judge.existence import SKEWS, Proven, with_time
from foja.pure.judge.trust import Trust
from foja.pure.proofs.budget import Budget
from foja.pure.proofs.finding import Finding, Flaw, Reason, Status
from foja.pure.proofs.monitor_statement import HEADER as STATEMENT

LEDGER, BLINDING, MONITOR = "ledger", "blinding", "monitor"
BLINDING_NAME = ".blinding"
MAX_BYTES = 2 << 20
LARGEST = {"tsa": 256 << 10, "bitcoin": 256 << 10, "evm": 1 << 20, "polygon": 1 << 20, "rekor": MAX_BYTES}
SNIFF_BYTES = 4096
_STARTS = {
    b"\x00OpenTimestamps\x00": "bitcoin",
    b"\x30": "tsa",
    LOG_PROOF.encode(): LEDGER,
    RECEIPT: LEDGER,
    f"{STATEMENT}\n".encode(): MONITOR,
    b"PK\x03\x04": "container",
}
_JSON = {b"application/vnd.dev.sigstore.bundle": "rekor", b'"foja/evm/v1"': "evm"}
_NAMES = {
    ".tsr": "tsa",
    ".tst": "tsa",
    ".ers": "tsa",
    ".ots": "bitcoin",
    ".evm.json": "evm",
    ".tlog-proof": LEDGER,
    ".cose": LEDGER,
    ".monitor": MONITOR,
    ".sigstore": "rekor",
    ".sigstore.json": "rekor",
    ".rekor.json": "rekor",
}
_SKEW = timedelta(minutes=5)  # how far other clocks may be ahead of the validation time
_OTHERS = ("sha384", "sha512")
_HEADERS_OF_A_UNIT, _RECOVERY_UNITS = 256, 10  # recovering a sender takes as long as so many signatures
# What a fault of the judge may raise; refusals of the caller's own arguments are not among them.
UNEXPECTED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NotCanonical,
    RecursionError,
    TypeError,
    ValueError,
)


def kind_of(data: bytes, name: str | None = None) -> str | None:
    """Return the kind of a proof by its content, else by its name; None if both are unknown."""
    if (name or "").lower().endswith(BLINDING_NAME) and len(data) == BLINDING_BYTES:
        return BLINDING  # its bytes are random, and may begin like those of any other kind
    for start, kind in _STARTS.items():
        if data.startswith(start):
            return kind
    if data[:SNIFF_BYTES].lstrip().startswith(b"{"):
        for mark, kind in _JSON.items():
            if mark in data:
                return kind
    return next((kind for ending, kind in _NAMES.items() if name and name.lower().endswith(ending)), None)


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """How to judge a proof: for which digest, under which trust, and at which time."""

    sha256: bytes
    trust: Trust
    at: datetime
    headers: Sequence[tuple[int, bytes]] = ()  # Bitcoin headers that came with the proof: used, not trusted
    digests: Mapping[str, bytes] | None = None  # by other algorithms; None: only SHA-256 is accepted
    nonce: int | None = None  # the one that was sent to an authority, if it is known
    group: frozenset[bytes] | None = None  # digests of the other files of an evidence record; None: not given
    proven: Proven | None = None  # by when the proof existed, if something newer shows it
    budget: Budget = field(default_factory=Budget)  # shared by all proofs of one input


def check_proof(
    data: bytes, request: ProofRequest, *, name: str | None = None, kind: str | None = None
) -> Finding:
    """Return what one proof shows about a digest at a time. No proof makes it raise."""
    kind = kind or kind_of(data, name)
    most = LARGEST.get(kind or "", MAX_BYTES)
    if len(data) > most:
        detail = f"the proof is over {most:,} bytes: larger than any that is judged"
        return Finding(kind or "proof", Status.UNSUPPORTED, Reason.TOO_LARGE, detail, name=name)
    check = _CHECKS.get(kind or "")
    if check is None:
        detail = "not a proof of a known kind"
        return Finding("proof", Status.UNSUPPORTED, Reason.UNKNOWN_PROOF, detail, name=name)
    try:
        found = check(data, request)
    except Flaw as flaw:
        found = flaw.finding(kind or "")
    except UNEXPECTED as error:
        found = not_judged(kind or "", error)
    if request.proven and kind == "tsa":
        found = with_time(found, request.proven)
    found = _not_after(found, request.at)
    return found if name is None else replace(found, name=name)


def not_judged(evidence: str, error: Exception) -> Finding:
    """Return the finding about an input on which the judge itself failed."""
    detail = f"the judge failed on it ({type(error).__name__}); please report this, with the file"
    return Finding(evidence, Status.UNSUPPORTED, Reason.NOT_JUDGED, detail)


def other_algorithms(data: bytes) -> set[str]:
    """Return the hash algorithms of a timestamp or an evidence record that are supported, without SHA-256."""
    if kind_of(data) != "tsa" or len(data) > LARGEST["tsa"]:
        return set()
    from foja.pure.proofs.ers import algorithms_of, is_record
    from foja.pure.proofs.tsa import judge
    from foja.pure.proofs.tsa.check import Terms

    if is_record(data):
        return {*algorithms_of(data)} & {*_OTHERS}
    stamp = judge(data, b"", Terms(roots=())).stamp
    return {stamp.algorithm or ""} & {*_OTHERS} if stamp else set()


def _not_after(finding: Finding, at: datetime) -> Finding:
    """A proof of a time after the validation time does not count yet."""
    skew = SKEWS.get(finding.evidence, _SKEW)
    if finding.no_later_than is None or finding.no_later_than <= at + skew:
        return finding
    return finding.weakened(Reason.AFTER_VALIDATION_TIME, "which is after the validation time")


# Each kind imports its modules when it is needed: judging timestamps does not load the rest.


def _check_tsa(data: bytes, request: ProofRequest) -> Finding:
    from foja.pure.judge.terms import terms_of
    from foja.pure.proofs.ers import is_record
    from foja.pure.proofs.ers import judge as judge_record
    from foja.pure.proofs.tsa import judge

    terms = terms_of(request.trust, request.at, request.proven, request.budget)
    if request.nonce is not None:
        terms = replace(terms, nonce=request.nonce)
    if is_record(data) or request.group is not None:
        found = judge_record(data, request.sha256, terms, group=request.group, digests=request.digests)
        return found.finding
    checked = judge(data, request.sha256, terms)
    used, reason = checked.stamp.algorithm if checked.stamp else None, checked.finding.reason
    if reason is not Reason.IMPRINT_ALGORITHM or request.digests is None or used not in _OTHERS:
        return checked.finding
    if used in request.digests:
        return judge(data, request.digests[used], replace(terms, algorithm=used)).finding
    detail = f"it is about a digest by {used}, but only the one by sha256 is known; give the file"
    return Finding("tsa", Status.INDETERMINATE, Reason.IMPRINT_ALGORITHM, detail)


def _check_bitcoin(data: bytes, request: ProofRequest) -> Finding:
    from foja.pure.proofs.ots import check
    from foja.pure.proofs.ots.header import header_at

    trust = request.trust
    request.budget.spend(len(request.headers) // _HEADERS_OF_A_UNIT)
    trusted, untrusted = ([header_at(*each) for each in some] for some in (trust.headers, request.headers))
    return check(
        data,
        request.sha256,
        trusted=trusted,
        untrusted=untrusted,
        minimum_difficulty=trust.minimum_difficulty,
        network=trust.bitcoin_network,
        budget=request.budget,
    )


def _check_rekor(data: bytes, request: ProofRequest) -> Finding:
    from foja.pure.judge.terms import anchors_of
    from foja.pure.proofs.rekor import check

    return check(data, request.sha256, anchors_of(request.trust, request.at, request.proven, request.budget))


def _check_evm(data: bytes, request: ProofRequest) -> Finding:
    from foja.pure.proofs.evm import check

    trust = request.trust
    request.budget.spend(_RECOVERY_UNITS)
    return check(data, request.sha256, blocks=trust.blocks, chains=trust.chains, senders=trust.senders)


_CHECKS: dict[str, Callable[[bytes, ProofRequest], Finding]] = {
    "tsa": _check_tsa,
    "bitcoin": _check_bitcoin,
    "rekor": _check_rekor,
    "evm": _check_evm,
    "polygon": _check_evm,
}
