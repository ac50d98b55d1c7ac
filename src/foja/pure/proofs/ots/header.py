"""The 80-byte header of a Bitcoin block: what it commits to, and its proof of work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from hashlib import sha256

from foja.errors import Refused

SIZE = 80
_EASIEST = 0xFFFF << 208  # the target at difficulty 1


@dataclass(frozen=True)
class Header:
    """A block header and the height that is claimed for it."""

    height: int
    data: bytes

    def __post_init__(self) -> None:
        if len(self.data) != SIZE:
            raise Refused(f"a Bitcoin header has {SIZE} bytes, not {len(self.data)}; give one raw or as hex")

    @property
    def previous(self) -> bytes:
        """The hash of the previous block."""
        return self.data[4:36]

    @property
    def merkle_root(self) -> bytes:
        """The Merkle root of the block's transactions."""
        return self.data[36:68]

    @property
    def time(self) -> datetime:
        """The miner's time; accurate to about two hours."""
        return datetime.fromtimestamp(int.from_bytes(self.data[68:72], "little"), UTC)

    @cached_property
    def hash(self) -> bytes:
        """The hash of the block, in the byte order of headers."""
        return sha256(sha256(self.data).digest()).digest()

    @property
    def name(self) -> str:
        """The hash of the block in hexadecimal, in the byte order that tools display."""
        return self.hash[::-1].hex()

    @property
    def target(self) -> int:
        """The largest hash that is allowed; 0 if the header states none."""
        bits = int.from_bytes(self.data[72:76], "little")
        exponent, mantissa = bits >> 24, bits & 0x7FFFFF
        if bits & 0x800000 or exponent > 32:
            return 0
        return mantissa << 8 * (exponent - 3) if exponent >= 3 else mantissa >> 8 * (3 - exponent)

    @property
    def difficulty(self) -> float:
        """The difficulty, as a multiple of the easiest one."""
        return _EASIEST / self.target if self.target else 0.0

    def has_valid_work(self, minimum_difficulty: int) -> bool:
        """Return whether the hash meets the target, and the target meets the minimum difficulty."""
        if self.target == 0 or self.target * minimum_difficulty > _EASIEST:
            return False
        return int.from_bytes(self.hash, "little") <= self.target


@lru_cache(maxsize=8192)
def header_at(height: int, data: bytes) -> Header:
    """Return a header; cached, so that all proofs of a bundle hash it once."""
    return Header(height, data)
