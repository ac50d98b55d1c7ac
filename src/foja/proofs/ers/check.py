"""The checks A1 to A3 of an evidence record; the token is checked like any other. No input makes it raise.

A1 the digest is in the first list · A2 that list is exactly the group of files given · A3 the lists lead to
the root that the token is about.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from hashlib import sha256

from foja.errors import Malformed
from foja.proofs import tsa
from foja.proofs.ers.record import Lists, read_record
from foja.proofs.finding import Finding, Flaw, Reason, Status
from foja.proofs.notices import GROUP_NOT_GIVEN, IN_A_BATCH, SEALED_IN_A_BATCH

EVIDENCE = "tsa"


def judge(
    data: bytes, digest: bytes, terms: tsa.Terms, *, group: Collection[bytes] | None = None
) -> tsa.Checked:
    """Return what an evidence record proves about a digest, under these terms for its token.

    `group` are the digests of the other files of its group. With it, the first list must hold exactly these
    and the digest (RFC 4998, 4.3). Without it, the digest is proven alone, and the finding says so.
    """
    return _judge(data, digest, terms, group, strict=False)


def judge_strictly(data: bytes, digest: bytes, terms: tsa.Terms, group: Collection[bytes]) -> tsa.Checked:
    """Return the same of a record that nothing else covers: only as Foja writes it, in one encoding.

    One that others may write, and that is not supported, is refused: it could say anything.
    """
    return _judge(data, digest, terms, group, strict=True)


def _judge(
    data: bytes, digest: bytes, terms: tsa.Terms, group: Collection[bytes] | None, *, strict: bool
) -> tsa.Checked:
    try:
        record = read_record(data)
        _check_group(record.lists[0], digest, group)
        root = root_of(record.lists)
        if strict and record.encode() != data:
            raise Flaw(Reason.NON_CANONICAL, "the evidence record is not in its one encoding")
    except Flaw as flaw:
        if strict and flaw.status is Status.UNSUPPORTED and flaw.reason is not Reason.TOO_LARGE:
            flaw = Flaw(Reason.NON_CANONICAL, str(flaw))
        return tsa.Checked(flaw.finding(EVIDENCE))
    except Malformed as error:
        return tsa.Checked(Finding(EVIDENCE, Status.INVALID, Reason.MALFORMED, str(error)))
    checked = tsa.judge(record.token, root, terms)
    if not checked.verified:
        return checked
    return replace(checked, finding=_in_a_batch(checked.finding, group, sealed=strict))


def root_of(lists: Lists) -> bytes:
    """A3: return the root that these lists lead to: each is hashed with the hash of the list before it."""
    found = b""
    for hashes in lists:
        if found in hashes:
            raise Malformed("a list of its hash tree repeats the hash of the list before it")
        found = sha256(b"".join(sorted((*hashes, found)))).digest()
    return found


def members(data: bytes) -> frozenset[bytes]:
    """Return the digests of a record's group; none if it cannot be read."""
    try:
        return frozenset(read_record(data).lists[0])
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
