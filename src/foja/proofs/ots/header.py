"""The 80 bytes of a Bitcoin block: what they commit to, and the work they cost."""

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
    """A block header at the height it is said to have."""

    height: int
    data: bytes

    def __post_init__(self) -> None:
        if len(self.data) != SIZE:
            raise Refused(f"a Bitcoin header has {SIZE} bytes, not {len(self.data)}; give one raw or as hex")

    @property
    def previous(self) -> bytes:
        """The hash of the block below."""
        return self.data[4:36]

    @property
    def merkle_root(self) -> bytes:
        """What all transactions of the block hash to."""
        return self.data[36:68]

    @property
    def time(self) -> datetime:
        """When the miner says it was; right within about two hours."""
        return datetime.fromtimestamp(int.from_bytes(self.data[68:72], "little"), UTC)

    @cached_property
    def hash(self) -> bytes:
        """The hash of the block, as the next one writes it."""
        return sha256(sha256(self.data).digest()).digest()

    @property
    def name(self) -> str:
        """The hash of the block, as people write it."""
        return self.hash[::-1].hex()

    @property
    def target(self) -> int:
        """The number its hash may not exceed; 0 if the header states none."""
        bits = int.from_bytes(self.data[72:76], "little")
        exponent, mantissa = bits >> 24, bits & 0x7FFFFF
        if bits & 0x800000 or exponent > 32:
            return 0
        return mantissa << 8 * (exponent - 3) if exponent >= 3 else mantissa >> 8 * (3 - exponent)

    @property
    def difficulty(self) -> float:
        """How many times harder than the easiest block this one was."""
        return _EASIEST / self.target if self.target else 0.0

    def is_worked(self, minimum_difficulty: int) -> bool:
        """Say whether its hash meets its target, and its target the least difficulty allowed."""
        if self.target == 0 or self.target * minimum_difficulty > _EASIEST:
            return False
        return int.from_bytes(self.hash, "little") <= self.target


@lru_cache(maxsize=8192)
def header_at(height: int, data: bytes) -> Header:
    """Return a header; the same one for every proof of a bundle, so that it is hashed once."""
    return Header(height, data)
