"""The encoding of an evidence record (RFC 4998): hash lists and one token. `foja.pure.proofs.ers` reads it.

`tsa.confirmed` records the parts, and a bundle holds the record. So its bytes must never change.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

HASH_BYTES = 32
BLINDING_BYTES = 32
MAX_LISTS = 64
_SEQUENCE, _OCTETS, _ALGORITHM, _TREE = 0x30, 0x04, 0xA0, 0xA2
_VERSION = b"\x02\x01\x01"
_SHA256 = b"\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00"  # its object identifier, and NULL


def encode(lists: Iterable[Iterable[bytes]], token: bytes) -> bytes:
    """Return the EvidenceRecord of a reduced hash tree by SHA-256 and its TimeStampToken."""
    tree = b"".join(_element(_SEQUENCE, *(_element(_OCTETS, each) for each in hashes)) for hashes in lists)
    stamp = _element(_SEQUENCE, _element(_ALGORITHM, _SHA256), _element(_TREE, tree), token)
    algorithms = _element(_SEQUENCE, _element(_SEQUENCE, _SHA256))
    return _element(_SEQUENCE, _VERSION, algorithms, _element(_SEQUENCE, _element(_SEQUENCE, stamp)))


def lists_of(digest: bytes, blinding: bytes, path: bytes, others: Iterable[bytes] = ()) -> list[list[bytes]]:
    """Return the hash lists of one document: its group, then one hash for each node up to the root.

    `others` are the digests of more files of the group.
    """
    group = sorted((digest, sha256(blinding).digest(), *others))
    return [group, *([path[at : at + HASH_BYTES]] for at in range(0, len(path), HASH_BYTES))]


def length(size: int) -> bytes:
    """Return a length in DER."""
    if size < 0x80:
        return bytes((size,))
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((0x80 | len(octets),)) + octets


def _element(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return bytes((tag,)) + length(len(content)) + content
