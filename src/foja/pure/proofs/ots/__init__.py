"""OpenTimestamps: does a trusted Bitcoin block commit to this digest?

A trusted header counts if its proof of work is valid. An untrusted header counts if other
headers lead from it, block by block, to a trusted one. A calendar's promise, or a chain
other than Bitcoin, proves nothing here. A block of a test network counts only if the trust names
that network or asks for less work than the main network has, and the finding says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from foja.errors import Tampered
from foja.pure.proofs.budget import Budget
from foja.pure.proofs.finding import Finding, Reason, Status, TrustItem
from foja.pure.proofs.notices import TEST_NOTICE
from foja.pure.proofs.ots.header import Header
from foja.pure.proofs.ots.network import MAIN, MAINNET_DIFFICULTY, block_name
from foja.pure.proofs.ots.stamp import RIPEMD160, SHA1, SHA256, Attestation, OtsProof, parse_stamp
from foja.pure.quotation import quoted

EVIDENCE = "bitcoin"
_TIME_ACCURACY = "the block's own time, which may be wrong by about two hours"
_DEPTH = "how many blocks came after it"
_RIPEMD160_STRENGTH = "whether RIPEMD-160, which the proof uses, is still strong enough"
_Headers = Mapping[int, list[Header]]


def check(
    data: bytes,
    digest: bytes,
    *,
    trusted: Iterable[Header] = (),
    untrusted: Iterable[Header] = (),
    minimum_difficulty: int,
    network: str = MAIN,
    budget: Budget | None = None,
) -> Finding:
    """Return what an `.ots` file proves about a SHA-256 digest, or raise `Flaw` if it is over the budget."""
    if budget is not None:
        budget.spend(1)
    try:
        stamp = parse_stamp(data, budget)
    except Tampered as error:
        return Finding(EVIDENCE, Status.INVALID, Reason.MALFORMED, str(error))
    if stamp.algorithm != SHA256:
        detail = f"the proof is about a {stamp.algorithm} digest; only SHA-256 is supported"
        return Finding(EVIDENCE, Status.UNSUPPORTED, Reason.WEAK_HASH, detail)
    if stamp.digest != digest:
        detail = f"the proof is about {stamp.digest.hex()}, not {digest.hex()}"
        return Finding(EVIDENCE, Status.INVALID, Reason.DIGEST_MISMATCH, detail)
    headers = _KnownHeaders(_by_height(trusted), _by_height(untrusted), minimum_difficulty, network)
    return _combine(stamp, headers)


def _combine(stamp: OtsProof, headers: _KnownHeaders) -> Finding:
    """Return the best finding of the attestations; a wrong one makes the proof invalid."""
    found = [headers.judge(each) for each in stamp.attestations if each.kind == "bitcoin"]
    for status in (Status.INVALID, Status.VERIFIED, Status.INDETERMINATE):
        of_status = [each for each in found if each.status is status]
        if of_status:
            finding = min(of_status, key=_rank)
            return replace(finding, not_checked=finding.not_checked + _other_attestations(stamp))
    return _unattested(stamp)


def _rank(finding: Finding) -> tuple[bool, float]:
    time = finding.no_later_than.timestamp() if finding.no_later_than else 0.0
    return finding.reason is Reason.NO_HEADER, time


def _unattested(stamp: OtsProof) -> Finding:
    calendars = sorted({quoted(each.calendar) for each in stamp.attestations if each.kind == "pending"})
    if calendars:
        detail = f"only a promise of {', '.join(calendars)}, no block yet; upgrade the proof later"
        others = _other_attestations(stamp)
        return Finding(EVIDENCE, Status.PENDING, Reason.NOT_ATTESTED_YET, detail, not_checked=others)
    kinds = ", ".join(sorted({quoted(each.kind) for each in stamp.attestations}))
    detail = f"no supported attestation, only: {kinds}"
    return Finding(EVIDENCE, Status.UNSUPPORTED, Reason.UNKNOWN_ATTESTATION, detail)


def _other_attestations(stamp: OtsProof) -> tuple[str, ...]:
    others = sorted({each.kind for each in stamp.attestations} - {"bitcoin", "pending"})
    return tuple(f"an attestation of {quoted(other)}" for other in others)


class _KnownHeaders:
    """The headers that were given, and which of them can be trusted."""

    def __init__(self, trusted: _Headers, untrusted: _Headers, minimum_difficulty: int, network: str) -> None:
        self._trusted, self._untrusted = trusted, untrusted
        self._minimum_difficulty, self._network = minimum_difficulty, network
        self._results = dict[Header, bool]()  # a path is walked once, however many attestations lead to it

    def judge(self, attestation: Attestation) -> Finding:
        """Return what one Bitcoin attestation shows."""
        height, block = attestation.height, block_name(self._network, attestation.height)
        headers = self._trusted.get(height) or self._untrusted.get(height)
        if not headers:
            detail = f"the proof leads to {block}, whose header was not given"
            item = TrustItem("header", block, f"merkle root {attestation.message[::-1].hex()}")
            return Finding(EVIDENCE, Status.INDETERMINATE, Reason.NO_HEADER, detail, missing=(item,))
        for header in headers:
            if not header.has_valid_work(self._minimum_difficulty):
                return self._invalid_work(header)
        for header in headers:
            if header.merkle_root == attestation.message:
                return self._attested(attestation, header)
        detail = f"the proof leads to {attestation.message.hex()}, but {block} has another root"
        return Finding(EVIDENCE, Status.INVALID, Reason.MERKLE_ROOT_MISMATCH, detail)

    def _attested(self, attestation: Attestation, header: Header) -> Finding:
        block = block_name(self._network, header.height)
        item = TrustItem("header", block, f"hash {header.name}")
        if SHA1 in attestation.hashes:
            detail = f"{block} commits to it only through SHA-1, which is not collision-resistant"
            return Finding(EVIDENCE, Status.INDETERMINATE, Reason.WEAK_HASH, detail)
        if not self._is_trusted(header):
            detail = f"{block} ({header.name}) commits to it, but does not lead to a header you trust"
            return Finding(EVIDENCE, Status.INDETERMINATE, Reason.HEADER_NOT_TRUSTED, detail, missing=(item,))
        detail = f"{block} ({header.name}) commits to it"
        weak = [_RIPEMD160_STRENGTH] if RIPEMD160 in attestation.hashes else ()
        test = [TEST_NOTICE] if self._is_of_test_network(header) else ()
        not_checked = (*test, _TIME_ACCURACY, _DEPTH, *weak)
        found = Finding(EVIDENCE, Status.VERIFIED, None, detail, header.time, block, not_checked)
        return replace(found, rests_on=(item,))

    def _is_of_test_network(self, header: Header) -> bool:
        """Return whether the trust names a test network, or the work is less than on the main network."""
        return self._network != MAIN or not header.has_valid_work(MAINNET_DIFFICULTY)

    def _is_trusted(self, header: Header) -> bool:
        """Return whether the header is trusted, or blocks lead from it to a trusted one."""
        path, current = list[Header](), header
        while current not in self._results and current not in self._trusted.get(current.height, ()):
            path.append(current)
            following = self._following(current)
            if following is None:
                self._results[current] = False
            else:
                current = following
        trusted = self._results.get(current, True)
        self._results.update(dict.fromkeys(path, trusted))
        return trusted

    def _following(self, header: Header) -> Header | None:
        """Return the next header with valid work, if it was given."""
        height = header.height + 1
        above = [*self._trusted.get(height, ()), *self._untrusted.get(height, ())]
        following = [each for each in above if each.previous == header.hash]
        valid = following and following[0].has_valid_work(self._minimum_difficulty)
        return following[0] if valid else None

    def _invalid_work(self, header: Header) -> Finding:
        detail = (
            f"the header given for {block_name(self._network, header.height)} has no valid proof of work:"
            f" difficulty {header.difficulty:.3g}, at least {self._minimum_difficulty:.3g} is required"
        )
        return Finding(EVIDENCE, Status.INVALID, Reason.POW_INVALID, detail)


def _by_height(headers: Iterable[Header]) -> _Headers:
    found: dict[int, list[Header]] = {}
    for header in headers:
        found.setdefault(header.height, []).append(header)
    return found
