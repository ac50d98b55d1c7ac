"""The parser of evidence records (RFC 4998): chains of timestamps, each over a reduced hash tree or one hash.

Nothing is checked yet. Deliberately absent: encrypted data, attributes, and hashes other than SHA-2.
"""

from __future__ import annotations

from dataclasses import dataclass

from foja.errors import Malformed
from foja.pure.core.bundle.evidence_record import MAX_LISTS, encode
from foja.pure.proofs.der import INTEGER, OCTETS, OID, SEQUENCE, DerReader, element, tagged
from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.tsa.oids import SIZES, algorithm_of
from foja.pure.proofs.tsa.token import read_token

MAX_BYTES = 262_144
MAX_HASHES = 1024  # of one list
MAX_STAMPS = 32
_ALGORITHM, _ATTRIBUTES, _TREE = tagged(0), tagged(1), tagged(2)
Lists = tuple[tuple[bytes, ...], ...]


@dataclass(frozen=True, slots=True)
class ArchiveTimestamp:
    """The hash lists from a data object group up to the root, none for a single hash, and the token."""

    algorithm: str
    lists: Lists
    token: bytes


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """Chains of timestamps, oldest first: each renews the one before it, each chain those before it."""

    chains: tuple[tuple[ArchiveTimestamp, ...], ...]
    encoded: tuple[bytes, ...]  # each chain in DER

    @property
    def first(self) -> ArchiveTimestamp:
        """The oldest timestamp: it is about the document itself."""
        return self.chains[0][0]

    @property
    def lists(self) -> Lists:
        """The hash lists of the oldest timestamp."""
        return self.first.lists

    @property
    def token(self) -> bytes:
        """The token of the oldest timestamp."""
        return self.first.token

    def before(self, number: int) -> bytes:
        """Return the chains before this one, as a renewal of the hash tree covers them."""
        return element(SEQUENCE, *self.encoded[:number])

    def encode(self) -> bytes:
        """Return the oldest timestamp as a record as Foja writes it."""
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
    listed = {_check_algorithm(algorithm_of(algorithms))}
    while algorithms.next != -1:
        listed.add(_check_algorithm(algorithm_of(algorithms)))
    if parts.next in (tagged(0), tagged(1)):
        raise _unsupported("it has encrypted or additional data")
    chains = [(each, DerReader(each)) for each in _elements(parts.into(SEQUENCE))]
    found = [tuple(map(_timestamp, _elements(each.into(SEQUENCE)))) for _, each in chains]
    if not found or not all(found) or sum(map(len, found)) > MAX_STAMPS:
        raise Malformed(f"it has a chain without a timestamp, none, or more than {MAX_STAMPS} timestamps")
    if not {stamp.algorithm for each in found for stamp in each} <= listed:
        raise Malformed("it does not name each hash algorithm of its timestamps")
    return EvidenceRecord(tuple(found), tuple(each for each, _ in chains))


def _elements(parts: DerReader) -> list[bytes]:
    found = list[bytes]()
    while parts.next != -1:
        found.append(parts.whole(SEQUENCE))
    return found


def _timestamp(data: bytes) -> ArchiveTimestamp:
    parts, algorithm = DerReader(data).into(SEQUENCE), None
    if parts.next == _ALGORITHM:
        algorithm = algorithm_of(DerReader(element(SEQUENCE, parts.take(_ALGORITHM))))
        _check_algorithm(algorithm)
    if parts.next == _ATTRIBUTES:
        raise _unsupported("it has attributes")
    tree = parts.optional(_TREE)
    token = parts.whole(SEQUENCE)
    parts.finish()
    if DerReader(token).into(SEQUENCE).next != OID:
        raise Malformed("its timestamp is not a bare TimeStampToken")
    algorithm = algorithm or _check_algorithm(read_token(token).info.algorithm)
    return ArchiveTimestamp(algorithm, _lists(tree, SIZES[algorithm]) if tree else (), token)


def _check_algorithm(algorithm: str | None) -> str:
    if algorithm is None:
        detail = "it is about digests by an algorithm that is not supported"
        raise Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)
    return algorithm


def _lists(tree: DerReader, size: int) -> Lists:
    found = list[tuple[bytes, ...]]()
    while tree.next != -1:
        if len(found) == MAX_LISTS:
            raise Malformed(f"its hash tree has more than {MAX_LISTS} lists")
        found.append(_hashes(tree.enter(SEQUENCE), size))
    if not found or not all(found):
        raise Malformed("its hash tree, or a list of it, is empty")
    return tuple(found)


def _hashes(each: DerReader, size: int) -> tuple[bytes, ...]:
    """Return the hashes of a list, which must be in ascending order: a record has one encoding."""
    found = [b""]
    while each.next != -1:
        value = each.take(OCTETS)
        if len(value) != size or value <= found[-1]:
            raise Malformed("a list of its hash tree holds something else than hashes in ascending order")
        if len(found) > MAX_HASHES:
            raise Malformed(f"a list of its hash tree has more than {MAX_HASHES} hashes")
        found.append(value)
    return tuple(found[1:])


def _unsupported(detail: str) -> Flaw:
    return Flaw(
        Reason.UNKNOWN_PROOF, f"evidence records like this are not supported: {detail}", Status.UNSUPPORTED
    )
