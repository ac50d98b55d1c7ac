"""The checks A1 to A4 of an evidence record; its tokens are checked like any other. No input makes it raise.

A1 the digest is in the first list · A2 that list is exactly the group of files given · A3 the lists lead to
the root that the token is about · A4 each renewal covers what it renews, and was made while that was valid.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from hashlib import new

from foja.errors import Malformed
from foja.pure.proofs import tsa
from foja.pure.proofs.ers.record import ArchiveTimestamp, EvidenceRecord, Lists, read_record
from foja.pure.proofs.finding import Finding, Flaw, Reason, Status
from foja.pure.proofs.notices import GROUP_NOT_GIVEN, IN_A_BATCH, SEALED_IN_A_BATCH

EVIDENCE = "tsa"


def judge(
    data: bytes,
    digest: bytes,
    terms: tsa.Terms,
    *,
    group: Collection[bytes] | None = None,
    digests: Mapping[str, bytes] | None = None,
) -> tsa.Checked:
    """Return what an evidence record proves about a digest by SHA-256, under these terms for its tokens.

    `group` are the digests of the other files of its group. With it, the first list must hold exactly these
    and the digest (RFC 4998, 4.3). Without it, the digest is proven alone, and the finding says so. `digests`
    are those by other algorithms, which a record may be about.
    """
    return _judge(data, {**(digests or {}), "sha256": digest}, terms, group, strict=False)


def judge_strictly(data: bytes, digest: bytes, terms: tsa.Terms, group: Collection[bytes]) -> tsa.Checked:
    """Return the same of a record that nothing else covers: only as Foja writes it, in one encoding.

    One that others may write, and that Foja does not, is refused: it could say anything.
    """
    return _judge(data, {"sha256": digest}, terms, group, strict=True)


def _judge(
    data: bytes,
    digests: Mapping[str, bytes],
    terms: tsa.Terms,
    group: Collection[bytes] | None,
    *,
    strict: bool,
) -> tsa.Checked:
    try:
        record = read_record(data)
        if strict and (record.encode() != data or len(record.lists[:1]) != 1 or len(record.lists[0]) < 2):
            raise Flaw(Reason.NON_CANONICAL, "the evidence record is not in its one encoding")
        covered = list(_covered(record, digests))
        _check_group(record.lists[0] if record.lists else covered[0][1:], covered[0][1], group)
        roots = [(stamp, _root_over(stamp, each)) for stamp, each in covered]
    except Flaw as flaw:
        if strict and flaw.status is Status.UNSUPPORTED and flaw.reason is not Reason.TOO_LARGE:
            flaw = Flaw(Reason.NON_CANONICAL, str(flaw))
        return tsa.Checked(flaw.finding(EVIDENCE))
    except Malformed as error:
        return tsa.Checked(Finding(EVIDENCE, Status.INVALID, Reason.MALFORMED, str(error)))
    checked = _judge_tokens(roots, terms)
    if not checked.verified or not record.lists:
        return checked
    return replace(checked, finding=_in_a_batch(checked.finding, group, sealed=strict))


def _covered(
    record: EvidenceRecord, digests: Mapping[str, bytes]
) -> Iterator[tuple[ArchiveTimestamp, bytes]]:
    """Yield each timestamp, oldest first, and the hash that it must cover (RFC 4998, 5.2)."""
    for number, chain in enumerate(record.chains):
        algorithm = chain[0].algorithm
        if algorithm not in digests:
            detail = (
                f"it is about a digest by {algorithm}, but only the one by sha256 is known; give the file"
            )
            raise Flaw(Reason.IMPRINT_ALGORITHM, detail, Status.INDETERMINATE)
        hash_ = digests[algorithm]
        if number:
            hash_ = new(algorithm, hash_ + new(algorithm, record.before(number)).digest()).digest()
        for stamp in chain:
            if stamp.algorithm != algorithm:
                raise Malformed("a chain of its timestamps has several hash algorithms")
            yield stamp, hash_
            hash_ = new(algorithm, stamp.token).digest()


def _root_over(stamp: ArchiveTimestamp, covered: bytes) -> bytes:
    """A4: return the root of a timestamp's tree, which must cover this hash."""
    if not stamp.lists:
        return covered
    if covered not in stamp.lists[0]:
        raise Flaw(Reason.DIGEST_MISMATCH, "a renewal in the evidence record is about something else")
    return root_of(stamp.lists, stamp.algorithm)


def _judge_tokens(roots: list[tuple[ArchiveTimestamp, bytes]], terms: tsa.Terms) -> tsa.Checked:
    """Judge the newest token by the terms, and each older one as of the time of the one that renews it.

    Return what the oldest shows, or the newest that is not verified: no older one counts without it.
    """
    at = terms.at
    for stamp, root in reversed(roots):
        checked = tsa.judge(stamp.token, root, replace(terms, at=at, algorithm=stamp.algorithm))
        if not checked.verified or checked.stamp is None:
            return checked
        at = checked.stamp.gen_time
    return checked


def root_of(lists: Lists, algorithm: str = "sha256") -> bytes:
    """A3: return the root that these lists lead to: each is hashed with the hash of the list before it.

    A single hash in the first list is not hashed again, as Bouncy Castle has it.
    """
    found = b""
    for hashes in lists:
        if found in hashes:
            raise Malformed("a list of its hash tree repeats the hash of the list before it")
        joined = b"".join(sorted((*hashes, found)))
        found = hashes[0] if not found and len(hashes) == 1 else new(algorithm, joined).digest()
    return found


def algorithms_of(data: bytes) -> frozenset[str]:
    """Return the hash algorithms of a record's digests; none if it cannot be read."""
    try:
        return frozenset(chain[0].algorithm for chain in read_record(data).chains)
    except (Flaw, Malformed):
        return frozenset()


def members(data: bytes) -> frozenset[bytes]:
    """Return the digests of a record's group; none if it cannot be read."""
    try:
        return frozenset(*read_record(data).lists[:1])
    except (Flaw, Malformed):
        return frozenset()


def _check_group(found: Collection[bytes], digest: bytes, group: Collection[bytes] | None) -> None:
    if digest not in found:
        raise Flaw(Reason.DIGEST_MISMATCH, "the evidence record is about other files")
    if group is not None and {digest, *group} != set(found):
        raise Flaw(Reason.GROUP_MISMATCH, "the group of the evidence record is not exactly the files given")


def _in_a_batch(finding: Finding, group: Collection[bytes] | None, *, sealed: bool) -> Finding:
    more = () if group is not None else (GROUP_NOT_GIVEN,)
    detail = f"{finding.detail}, {SEALED_IN_A_BATCH if sealed else IN_A_BATCH}"
    return replace(finding, detail=detail, not_checked=finding.not_checked + more)
