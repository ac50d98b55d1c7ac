"""One proof that came as a file: what kind it is, by its content, and what it shows about a digest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from foja.core.proof import HEADER as LOG_PROOF
from foja.judge.trust import Trust
from foja.proofs.finding import Finding, Reason, Status

CONTAINER = b"PK\x03\x04"
LARGEST = 8 * 1024 * 1024
_OTS = b"\x00OpenTimestamps\x00"
_DER = b"\x30"
_HEAD = 4096
_NAMES = {".tsr": "tsa", ".tst": "tsa", ".ots": "bitcoin", ".evm.json": "evm", ".tlog-proof": "ledger"}
# How far the clocks of others may be ahead of the time to judge at; Bitcoin itself allows two hours.
_SKEW, _SKEWS = timedelta(minutes=5), {"bitcoin": timedelta(hours=2)}
_SIGSTORE = (".sigstore", ".sigstore.json")


def kind_of(data: bytes, name: str | None = None) -> str | None:
    """Return what a proof is by its first bytes, or else by its name; None if neither says so."""
    head = data[:_HEAD].lstrip()
    if data.startswith(_OTS):
        return "bitcoin"
    if data.startswith(_DER):
        return "tsa"
    if data.startswith(LOG_PROOF.encode()):
        return "ledger"
    if data.startswith(CONTAINER):
        return "container"
    if head.startswith(b"{") and b"application/vnd.dev.sigstore.bundle" in data:
        return "rekor"
    if head.startswith(b"{") and b'"foja/evm/v1"' in data:
        return "evm"
    return _kind_by_name((name or "").lower())


def check_proof(
    data: bytes,
    sha256: bytes,
    trust: Trust,
    at: datetime,
    *,
    name: str | None = None,
    kind: str | None = None,
    headers: Iterable[tuple[int, bytes]] = (),
) -> Finding:
    """Return what one proof shows about a digest at a time. Never raises for what the proof holds.

    `headers` are Bitcoin headers that came along with the proof: used, not trusted.
    """
    if len(data) > LARGEST:
        detail = f"a proof of {len(data)} bytes is over the limit of {LARGEST}"
        return Finding(kind or "proof", Status.INVALID, Reason.MALFORMED, detail, name=name)
    kind = kind or kind_of(data, name)
    check = _CHECKS.get(kind or "")
    if check is None:
        detail = "this is no proof of a kind that is known here"
        return Finding("proof", Status.UNSUPPORTED, Reason.UNKNOWN_PROOF, detail, name=name)
    finding = check(data, sha256, trust, at, headers)
    return replace(_not_after(finding, at), name=name)


def _not_after(finding: Finding, at: datetime) -> Finding:
    """A proof of a time after the one it is judged at is not believed yet."""
    skew = _SKEWS.get(finding.evidence, _SKEW)
    late = finding.no_later_than is not None and finding.no_later_than > at + skew
    if not late or finding.status is not Status.VERIFIED:
        return finding
    detail = f"{finding.detail}; that is after the time it is judged at"
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


# Each kind imports what it needs when it is met: a judge of timestamps starts without the rest.


def _check_tsa(
    data: bytes, sha256: bytes, trust: Trust, at: datetime, headers: Iterable[tuple[int, bytes]]
) -> Finding:
    from foja.judge.terms import terms_of
    from foja.proofs.tsa import judge

    return judge(data, sha256, terms_of(trust, at)).finding


def _check_bitcoin(
    data: bytes, sha256: bytes, trust: Trust, at: datetime, headers: Iterable[tuple[int, bytes]]
) -> Finding:
    from foja.proofs.ots import check
    from foja.proofs.ots.header import Header

    named, carried = [[Header(*each) for each in some] for some in (trust.headers, headers)]
    return check(data, sha256, named=named, carried=carried, minimum_difficulty=trust.minimum_difficulty)


def _check_rekor(
    data: bytes, sha256: bytes, trust: Trust, at: datetime, headers: Iterable[tuple[int, bytes]]
) -> Finding:
    from foja.judge.terms import anchors_of
    from foja.proofs.rekor import check

    return check(data, sha256, anchors_of(trust, at))


def _check_evm(
    data: bytes, sha256: bytes, trust: Trust, at: datetime, headers: Iterable[tuple[int, bytes]]
) -> Finding:
    from foja.proofs.evm import check

    return check(data, sha256, blocks=trust.blocks, chains=trust.chains, senders=trust.senders)


_CHECKS: dict[str, Callable[[bytes, bytes, Trust, datetime, Iterable[tuple[int, bytes]]], Finding]] = {
    "tsa": _check_tsa,
    "bitcoin": _check_bitcoin,
    "rekor": _check_rekor,
    "evm": _check_evm,
    "polygon": _check_evm,
}
