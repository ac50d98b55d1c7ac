"""OpenTimestamps: does a Bitcoin block that somebody trusts commit to this digest?

A header that was named is trusted, as far as its work is real. A header that only came along
counts if others lead from it, block by block, to a named one. A calendar's promise, or a chain
that is not Bitcoin, proves nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from foja.errors import Tampered
from foja.proofs.finding import Finding, Reason, Status
from foja.proofs.ots.header import Header
from foja.proofs.ots.stamp import RIPEMD160, SHA1, SHA256, Attestation, OtsProof, parse_stamp

EVIDENCE = "bitcoin"
_ROUGH = "the block's own time, which may be wrong by about two hours"
_DEEP = "how many blocks came after it"
_NARROW = "whether RIPEMD-160, which the proof passes through, is still wide enough"
_Headers = Mapping[int, list[Header]]


def check(
    data: bytes,
    digest: bytes,
    *,
    named: Iterable[Header] = (),
    carried: Iterable[Header] = (),
    minimum_difficulty: int,
) -> Finding:
    """Return what an `.ots` file proves about a SHA-256 digest. Never raises for what it is given."""
    try:
        stamp = parse_stamp(data)
    except Tampered as error:
        return Finding(EVIDENCE, Status.INVALID, Reason.MALFORMED, str(error))
    if stamp.algorithm != SHA256:
        detail = f"the proof is about a {stamp.algorithm} digest; only SHA-256 is judged"
        return Finding(EVIDENCE, Status.UNSUPPORTED, Reason.WEAK_HASH, detail)
    if stamp.digest != digest:
        detail = f"the proof is about {stamp.digest.hex()}, not {digest.hex()}"
        return Finding(EVIDENCE, Status.INVALID, Reason.DIGEST_MISMATCH, detail)
    return _weigh(stamp, _Sources(_by_height(named), _by_height(carried), minimum_difficulty))


def _weigh(stamp: OtsProof, sources: _Sources) -> Finding:
    """Return the best of what the attestations show; one that is wrong spoils all."""
    found = [sources.judge(each) for each in stamp.attestations if each.kind == "bitcoin"]
    for status in (Status.INVALID, Status.VERIFIED, Status.INDETERMINATE):
        of_status = [each for each in found if each.status is status]
        if of_status:
            finding = min(of_status, key=_goodness)
            return replace(finding, not_checked=finding.not_checked + _uncounted(stamp))
    return _unattested(stamp)


def _goodness(finding: Finding) -> tuple[bool, float]:
    time = finding.no_later_than.timestamp() if finding.no_later_than else 0.0
    return finding.reason is Reason.NO_HEADER, time


def _unattested(stamp: OtsProof) -> Finding:
    calendars = sorted({each.calendar for each in stamp.attestations if each.kind == "pending"})
    if calendars:
        detail = f"a promise of {', '.join(calendars)} and no block yet; upgrade the proof later"
        return Finding(
            EVIDENCE, Status.PENDING, Reason.NOT_ATTESTED_YET, detail, not_checked=_uncounted(stamp)
        )
    others = ", ".join(sorted({each.kind for each in stamp.attestations}))
    detail = f"no attestation that is judged here, only: {others}"
    return Finding(EVIDENCE, Status.UNSUPPORTED, Reason.UNKNOWN_ATTESTATION, detail)


def _uncounted(stamp: OtsProof) -> tuple[str, ...]:
    others = sorted({each.kind for each in stamp.attestations} - {"bitcoin", "pending"})
    return tuple(f"an attestation of {other}" for other in others)


class _Sources:
    """The headers at hand, and what may be believed of them."""

    def __init__(self, named: _Headers, carried: _Headers, minimum_difficulty: int) -> None:
        self._named, self._carried = named, carried
        self._minimum_difficulty = minimum_difficulty
        self._known = dict[Header, bool]()  # a way is gone once, however many attestations lead to it

    def judge(self, attestation: Attestation) -> Finding:
        """Return what one Bitcoin attestation shows."""
        height = attestation.height
        headers = self._named.get(height) or self._carried.get(height)
        if not headers:
            detail = f"the proof leads to Bitcoin block {height}, whose header was not given"
            return Finding(EVIDENCE, Status.INDETERMINATE, Reason.NO_HEADER, detail)
        for header in headers:
            if not header.is_worked(self._minimum_difficulty):
                return self._unworked(header)
        for header in headers:
            if header.merkle_root == attestation.message:
                return self._attested(attestation, header)
        detail = (
            f"the proof leads to {attestation.message.hex()}, and Bitcoin block {height} holds another root"
        )
        return Finding(EVIDENCE, Status.INVALID, Reason.MERKLE_ROOT_MISMATCH, detail)

    def _attested(self, attestation: Attestation, header: Header) -> Finding:
        block = f"Bitcoin block {header.height}"
        if SHA1 in attestation.hashes:
            detail = f"{block} commits to it only by way of SHA-1, for which two inputs can be made to agree"
            return Finding(EVIDENCE, Status.INDETERMINATE, Reason.WEAK_HASH, detail)
        if not self._is_trusted(header):
            detail = (
                f"{block} ({header.name}) commits to it, and nobody you trust says that it is in the chain"
            )
            return Finding(EVIDENCE, Status.INDETERMINATE, Reason.HEADER_NOT_TRUSTED, detail)
        detail = f"{block} ({header.name}) commits to it"
        open_ends = (_ROUGH, _DEEP, *([_NARROW] if RIPEMD160 in attestation.hashes else ()))
        return Finding(EVIDENCE, Status.VERIFIED, None, detail, header.time, block, open_ends)

    def _is_trusted(self, header: Header) -> bool:
        """Say whether the header was named, or blocks lead from it to one that was."""
        way, here = list[Header](), header
        while here not in self._known and here not in self._named.get(here.height, ()):
            way.append(here)
            above = self._above(here)
            if above is None:
                self._known[here] = False
            else:
                here = above
        trusted = self._known.get(here, True)
        self._known.update(dict.fromkeys(way, trusted))
        return trusted

    def _above(self, header: Header) -> Header | None:
        """Return the worked header that follows, if it is at hand."""
        height = header.height + 1
        above = [*self._named.get(height, ()), *self._carried.get(height, ())]
        following = [each for each in above if each.previous == header.hash]
        worked = following and following[0].is_worked(self._minimum_difficulty)
        return following[0] if worked else None

    def _unworked(self, header: Header) -> Finding:
        detail = (
            f"the header given for Bitcoin block {header.height} has not the work it needs:"
            f" difficulty {header.difficulty:.3g}, at least {self._minimum_difficulty:.3g} is asked for"
        )
        return Finding(EVIDENCE, Status.INVALID, Reason.POW_INVALID, detail)


def _by_height(headers: Iterable[Header]) -> _Headers:
    found: dict[int, list[Header]] = {}
    for header in headers:
        found.setdefault(header.height, []).append(header)
    return found
