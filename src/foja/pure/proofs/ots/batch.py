"""The proof of one digest of a batch: the path of our tree as operations, then the timestamp of its root.

`ots` follows it like any other proof: it knows no trees, only operations.
"""

from __future__ import annotations

from collections.abc import Sequence

from foja.errors import Tampered
from foja.pure.core.merkle import inclusion_steps
from foja.pure.proofs.ots.stamp import APPEND, MAGIC, PREPEND, VERSION

SALT_BYTES = 16
_SHA256 = b"\x08"
_BEGIN = MAGIC + bytes([VERSION]) + _SHA256
# Each is followed by the salt or the neighbour; 0x00 and 0x01 are the prefixes of RFC 6962.
_LEAF = bytes([PREPEND, 17, 0x00])
_LEFT, _RIGHT = bytes([PREPEND, 33, 0x01]), bytes([PREPEND, 1, 0x01, APPEND, 32])


def write_stamp(digest: bytes, timestamp: bytes, operations: bytes = b"") -> bytes:
    """Return an `.ots` file about a SHA-256 digest; the timestamp is that of the operations' result."""
    return _BEGIN + digest + operations + timestamp


def batch_operations(salt: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Return the operations from a digest to the root of its batch, or raise `Tampered`.

    They compute the leaf SHA-256(0x00 ‖ salt ‖ digest), and each node SHA-256(0x01 ‖ left ‖ right).
    """
    if len(salt) != SALT_BYTES:
        raise Tampered(f"a salt has {SALT_BYTES} bytes, not {len(salt)}")
    written = [_LEAF, salt, _SHA256]
    for sibling, is_left in inclusion_steps(index, size, path):
        written += (_LEFT if is_left else _RIGHT, sibling, _SHA256)
    return b"".join(written)
