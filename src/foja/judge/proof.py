"""Judge one proof file: find its kind by its content, and what it shows about a digest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from foja.core.proof import HEADER as LOG_PROOF
from foja.judge.trust import Trust
from foja.proofs.finding import Finding, Reason, Status

LEDGER = "ledger"
CONTAINER = b"PK\x03\x04"
MAX_BYTES = 8 * 1024 * 1024
_OTS = b"\x00OpenTimestamps\x00"
_DER = b"\x30"
_SNIFF_BYTES = 4096
_NAMES = {".tsr": "tsa", ".tst": "tsa", ".ots": "bitcoin", ".evm.json": "evm", ".tlog-proof": LEDGER}
# How far other clocks may be ahead of the validation time; Bitcoin itself allows two hours.
_SKEW, _SKEWS = timedelta(minutes=5), {"bitcoin": timedelta(hours=2)}
_OTHERS = ("sha384", "sha512")
_SIGSTORE = (".sigstore", ".sigstore.json")


def kind_of(data: bytes, name: str | None = None) -> str | None:
    """Return the kind of a proof by its content, else by its name; None if both are unknown."""
    head = data[:_SNIFF_BYTES].lstrip()
    if data.startswith(_OTS):
        return "bitcoin"
    if data.startswith(_DER):
        return "tsa"
    if data.startswith(LOG_PROOF.encode()):
        return LEDGER
    if data.startswith(CONTAINER):
        return "container"
    if head.startswith(b"{") and b"application/vnd.dev.sigstore.bundle" in data:
        return "rekor"
    if head.startswith(b"{") and b'"foja/evm/v1"' in data:
        return "evm"
    return _kind_by_name((name or "").lower())


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """How to judge a proof: for which digest, under which trust, and at which time."""

    sha256: bytes
    trust: Trust
    at: datetime
    headers: tuple[tuple[int, bytes], ...] = ()
    digests: Mapping[str, bytes] | None = None
    nonce: int | None = None


def check_proof(
    data: bytes,
    sha256: bytes,
    trust: Trust,
    at: datetime,
    *,
    name: str | None = None,
    kind: str | None = None,
    headers: Iterable[tuple[int, bytes]] = (),
    digests: Mapping[str, bytes] | None = None,
    nonce: int | None = None,
) -> Finding:
    """Return what one proof shows about a digest at a time. No proof makes it raise.

    `headers` are Bitcoin headers that came with the proof: used, not trusted. `digests` are those of the
    same content by other algorithms, as far as they are known; None: only SHA-256 is accepted. `nonce` is
    the one that was sent to an authority, if it is known.
    """
    if len(data) > MAX_BYTES:
        detail = f"a proof of {len(data)} bytes is over the limit of {MAX_BYTES}"
        return Finding(kind or "proof", Status.INVALID, Reason.MALFORMED, detail, name=name)
    kind = kind or kind_of(data, name)
    check = _CHECKS.get(kind or "")
    if check is None:
        detail = "not a proof of a known kind"
        return Finding("proof", Status.UNSUPPORTED, Reason.UNKNOWN_PROOF, detail, name=name)
    finding = check(data, ProofRequest(sha256, trust, at, tuple(headers), digests, nonce))
    return replace(_not_after(finding, at), name=name)


def other_algorithm(data: bytes) -> str | None:
    """Return the hash algorithm of a timestamp if it is supported and not SHA-256, else None."""
    if kind_of(data) != "tsa":
        return None
    from foja.proofs.tsa import judge
    from foja.proofs.tsa.check import Terms

    stamp = judge(data, b"", Terms(roots=())).stamp
    return stamp.algorithm if stamp and stamp.algorithm in _OTHERS else None


def _not_after(finding: Finding, at: datetime) -> Finding:
    """A proof of a time after the validation time does not count yet."""
    skew = _SKEWS.get(finding.evidence, _SKEW)
    late = finding.no_later_than is not None and finding.no_later_than > at + skew
    if not late or finding.status is not Status.VERIFIED:
        return finding
    detail = f"{finding.detail}, which is after the validation time"
    return replace(
        finding,
        status=Status.INDETERMINATE,
        reason=Reason.AFTER_VALIDATION_TIME,
        detail=detail,
        no_later_than=None,
        according_to=None,
    )


def _kind_by_name(name: str) -> str | None:
    if name.endswith(_SIGSTORE):
        return "rekor"
    return next((kind for ending, kind in _NAMES.items() if name.endswith(ending)), None)


# Each kind imports its modules when it is needed: judging timestamps does not load the rest.


def _check_tsa(data: bytes, request: ProofRequest) -> Finding:
    from foja.judge.terms import terms_of
    from foja.proofs.tsa import judge

    terms = terms_of(request.trust, request.at)
    if request.nonce is not None:
        terms = replace(terms, nonce=request.nonce)
    checked = judge(data, request.sha256, terms)
    used, reason = checked.stamp.algorithm if checked.stamp else None, checked.finding.reason
    if reason is not Reason.IMPRINT_ALGORITHM or request.digests is None or used not in _OTHERS:
        return checked.finding
    if used in request.digests:
        return judge(data, request.digests[used], replace(terms, algorithm=used)).finding
    detail = f"it is about a digest by {used}, but only the one by sha256 is known; give the file"
    return Finding("tsa", Status.INDETERMINATE, Reason.IMPRINT_ALGORITHM, detail)


def _check_bitcoin(data: bytes, request: ProofRequest) -> Finding:
    from foja.proofs.ots import check
    from foja.proofs.ots.header import header_at

    trust = request.trust
    trusted, untrusted = ([header_at(*each) for each in some] for some in (trust.headers, request.headers))
    difficulty = trust.minimum_difficulty
    return check(data, request.sha256, trusted=trusted, untrusted=untrusted, minimum_difficulty=difficulty)


def _check_rekor(data: bytes, request: ProofRequest) -> Finding:
    from foja.judge.terms import anchors_of
    from foja.proofs.rekor import check

    return check(data, request.sha256, anchors_of(request.trust, request.at))


def _check_evm(data: bytes, request: ProofRequest) -> Finding:
    from foja.proofs.evm import check

    trust = request.trust
    return check(data, request.sha256, blocks=trust.blocks, chains=trust.chains, senders=trust.senders)


_CHECKS: dict[str, Callable[[bytes, ProofRequest], Finding]] = {
    "tsa": _check_tsa,
    "bitcoin": _check_bitcoin,
    "rekor": _check_rekor,
    "evm": _check_evm,
    "polygon": _check_evm,
}
