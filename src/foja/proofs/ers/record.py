"""The parser of evidence records (RFC 4998): one token over a reduced hash tree. Nothing is checked yet.

Deliberately absent: renewals inside the record, encrypted data, attributes, and hashes other than SHA-256.
Bundles are renewed as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from foja.core.bundle.evidence_record import HASH_BYTES, MAX_LISTS, encode
from foja.errors import Malformed
from foja.proofs.der import INTEGER, OCTETS, OID, SEQUENCE, DerReader, element, tagged
from foja.proofs.finding import Flaw, Reason, Status
from foja.proofs.tsa.oids import algorithm_of

MAX_BYTES = 262_144
MAX_HASHES = 1024  # of one list
_ALGORITHM, _ATTRIBUTES, _TREE = tagged(0), tagged(1), tagged(2)
Lists = tuple[tuple[bytes, ...], ...]


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """The hash lists from a data object group up to the root, and the token over the root."""

    lists: Lists
    token: bytes

    def encode(self) -> bytes:
        """Return the record as Foja writes it."""
        return encode(self.lists, self.token)


def is_record(data: bytes) -> bool:
    """Return whether this begins like an evidence record, not like a token or the reply with one."""
    try:
        return DerReader(data).enter(SEQUENCE).next == INTEGER
    except Malformed:
        return False


def read_record(data: bytes) -> EvidenceRecord:
    """Return the parts of a record; raise `Flaw` or `Malformed`."""
    if len(data) > MAX_BYTES:
        detail = f"the evidence record has {len(data):,} bytes; at most {MAX_BYTES:,} are read"
        raise Flaw(Reason.TOO_LARGE, detail, Status.UNSUPPORTED)
    parts = DerReader(data).into(SEQUENCE)
    if parts.integer() != 1:
        raise _unsupported("it is not of version 1")
    algorithms = parts.enter(SEQUENCE)
    _check_algorithm(algorithm_of(algorithms))
    if algorithms.next != -1 or parts.next in (tagged(0), tagged(1)):
        raise _unsupported("it has several hash algorithms, or encrypted or additional data")
    stamp = _only(_only(parts.into(SEQUENCE)))
    if stamp.next == _ALGORITHM:
        _check_algorithm(algorithm_of(DerReader(element(SEQUENCE, stamp.take(_ALGORITHM)))))
    if stamp.next in (_ATTRIBUTES, SEQUENCE):
        raise _unsupported("it has attributes, or no hash tree")
    lists = _lists(stamp.enter(_TREE))
    token = stamp.whole(SEQUENCE)
    stamp.finish()
    if DerReader(token).into(SEQUENCE).next != OID:
        raise Malformed("its timestamp is not a bare TimeStampToken")
    return EvidenceRecord(lists, token)


def _only(parts: DerReader) -> DerReader:
    found = parts.enter(SEQUENCE)
    if parts.next != -1:
        raise _unsupported("it was renewed: it has several timestamps")
    return found


def _check_algorithm(algorithm: str | None) -> None:
    if algorithm != "sha256":
        detail = f"it is about digests by {algorithm or 'an unknown algorithm'}; only sha256 is supported"
        raise Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)


def _lists(tree: DerReader) -> Lists:
    found = list[tuple[bytes, ...]]()
    while tree.next != -1:
        if len(found) == MAX_LISTS:
            raise Malformed(f"its hash tree has more than {MAX_LISTS} lists")
        found.append(_hashes(tree.enter(SEQUENCE)))
    if not found or len(found[0]) < 2 or not all(found):
        # RFC 4998 leaves open whether a single hash is hashed again: two readers could find two roots.
        raise _unsupported("its first list has fewer than two hashes, or another list none")
    return tuple(found)


def _hashes(each: DerReader) -> tuple[bytes, ...]:
    """Return the hashes of a list, which must be in ascending order: a record has one encoding."""
    found = [b""]
    while each.next != -1:
        value = each.take(OCTETS)
        if len(value) != HASH_BYTES or value <= found[-1]:
            raise Malformed("a list of its hash tree holds something else than hashes in ascending order")
        if len(found) > MAX_HASHES:
            raise Malformed(f"a list of its hash tree has more than {MAX_HASHES} hashes")
        found.append(value)
    return tuple(found[1:])


def _unsupported(detail: str) -> Flaw:
    return Flaw(
        Reason.UNKNOWN_PROOF, f"evidence records like this are not supported: {detail}", Status.UNSUPPORTED
    )
