"""What a bundle is made of before it is written: a proven history, then sealed files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from foja.pure.core.bundle import archive
from foja.pure.core.bundle.archive import Part
from foja.pure.core.excerpt import Excerpt
from foja.pure.core.proof import Proof
from foja.pure.proofs.tsa import Timestamp

SMALL_BYTES = 1 << 20  # a file up to this size is written in memory


@dataclass(frozen=True, slots=True)
class ProvenHistory:
    """The first events of a document, and the proof that the log holds the last of them."""

    events: Sequence[Excerpt]
    proof: Proof | None

    @property
    def is_stored(self) -> bool:
        """Whether the bytes of the document may have to be in the bundle."""
        added = self.events[0].payload if self.events else None
        return isinstance(added, dict) and added.get("custody") == "stored"

    @property
    def stored_bytes(self) -> int:
        """How many bytes of the document the bundle may hold, as its event says."""
        added = self.events[0].payload if self.events else None
        size = added.get("size") if isinstance(added, dict) and self.is_stored else 0
        return size if isinstance(size, int) else 0


@dataclass(frozen=True, slots=True)
class Unsealed:
    """A container without a seal, its witness, and what our nodes confirmed about its anchors."""

    parts: Sequence[Part]
    witness: str
    trust: tuple[str, ...]

    def sealed(self, parts: Sequence[Part], stamp: Timestamp) -> Sealed:
        """Return the container of all these files, which the stamp seals."""
        return Sealed(parts, self.witness, stamp, self.trust)


@dataclass(frozen=True, slots=True)
class Sealed:
    """A container to write, its witness, its seal, and what our nodes confirmed about its anchors."""

    parts: Sequence[Part]
    witness: str
    stamp: Timestamp
    trust: tuple[str, ...]

    @property
    def small(self) -> bool:
        """Whether it can be held in memory."""
        return sum(each.entry.size for each in self.parts) <= SMALL_BYTES

    def encode(self) -> bytes:
        """Return the bytes of a small container."""
        return b"".join(archive.write(self.parts))

    async def write(self, target: BinaryIO) -> None:
        """Write a container of any size."""
        await asyncio.to_thread(write_parts, self.parts, target)


def write_parts(parts: Sequence[Part], target: BinaryIO) -> None:
    """Write a container in pieces; hold no more than one of them in memory."""
    for chunk in archive.write(parts):  # noqa: FURB122, `writelines` of a spooled file holds all in memory
        target.write(chunk)
    target.flush()
