"""The place of a digest in a batch: a salt and an RFC 6962 path to the root that was anchored.

Written as in `x.evm.json` (docs/verify.md): bytes are `0x` and lower-case hexadecimal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from foja.errors import Tampered
from foja.pure.core.canonical import Json
from foja.pure.core.merkle import HASH_BYTES, check_inclusion, leaf_hash, root_preimage

SALT_BYTES, MAX_PATH = 16, 64
_FIELDS = {"size", "index", "salt", "path"}
_HEX = re.compile("0x(?:[0-9a-f]{2})*")
_MOST = 2**53 - 1


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """The position of a digest among those under one root."""

    size: int
    index: int
    salt: bytes
    path: tuple[bytes, ...]

    def document(self) -> dict[str, Json]:
        """Return the fields as they are written to a file."""
        return {
            "size": self.size,
            "index": self.index,
            "salt": _text(self.salt),
            "path": [_text(each) for each in self.path],
        }

    def check(self, digest: bytes, root: bytes) -> None:
        """Raise `Tampered` unless the digest, salted, is under this root."""
        check_inclusion(leaf_hash(self.salt + digest), self.index, self.size, self.path, root)

    def root_file(self, digest: bytes) -> bytes:
        """Return the bytes whose SHA-256 is the root: what other tools verify as a file."""
        return root_preimage(leaf_hash(self.salt + digest), self.index, self.size, self.path)


def parse_place(value: Json, where: str, *, fewest: int = 1) -> BatchPlace:
    """Return the place that these fields describe in a batch of `fewest` or more, or raise `Tampered`."""
    if not isinstance(value, dict) or set(value) != _FIELDS:
        raise Tampered(f"{where} needs an object with exactly the fields {', '.join(sorted(_FIELDS))}")
    path = value["path"]
    if not isinstance(path, list) or len(path) > MAX_PATH:
        raise Tampered(f"{where}.path is not a list of at most {MAX_PATH} items")
    return BatchPlace(
        _count(value["size"], f"{where}.size", fewest),
        _count(value["index"], f"{where}.index", 0),
        _bytes(value["salt"], f"{where}.salt", SALT_BYTES),
        tuple(_bytes(each, f"{where}.path", HASH_BYTES) for each in path),
    )


def _count(value: Json, where: str, fewest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not fewest <= value <= _MOST:
        raise Tampered(f"{where} is not a number from {fewest} to {_MOST}")
    return value


def _bytes(value: Json, where: str, size: int) -> bytes:
    if not isinstance(value, str) or not _HEX.fullmatch(value) or len(value) != 2 + 2 * size:
        raise Tampered(f"{where} is not {size} bytes as 0x and lower-case hexadecimal")
    return bytes.fromhex(value[2:])


def _text(data: bytes) -> str:
    return f"0x{data.hex()}"
