"""Signed logs of streams in a folder, as a store has them, honest or forked."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from foja.pure.core import tiles
from foja.pure.core.chain import leaf_entry
from foja.pure.core.merkle import Frontier, leaf_hash
from foja.pure.core.note import Checkpoint, Signer

KEY = Signer("log.example", sha256(b"the key of the log").digest())
Leaf = tuple[int, int, str]  # the stream, the number, and what the hash is made of


def entry(leaf: Leaf | bytes) -> bytes:
    if isinstance(leaf, bytes):
        return leaf
    stream, seq, _ = leaf
    return leaf_entry(UUID(int=stream), seq, digest(leaf))


def digest(leaf: Leaf) -> bytes:
    return sha256(repr(leaf).encode()).digest()


def leaves(*streams: int, start: int = 0, count: int = 3, word: str = "") -> list[Leaf]:
    """Return the same numbers of each stream, in turn."""
    return [(stream, start + n, word) for n in range(count) for stream in streams]


def checkpoint(origin: str, found: Sequence[Leaf | bytes]) -> Checkpoint:
    frontier = Frontier().extend(leaf_hash(entry(each)) for each in found)
    return Checkpoint(origin, frontier.size, frontier.root())


def restarted(old: str, number: int, found: list[Leaf]) -> str:
    """Return the origin of the log that follows one with these leaves."""
    head = checkpoint(old, found)
    return f"{KEY.name}/{number}/{head.size}-{head.root.hex()}"


def publish(
    folder: Path, number: int, origin: str, found: Sequence[Leaf | bytes], *, signer: Signer = KEY
) -> None:
    """Write the files of a log, as the sequencer does; those of an older size stay."""
    root = folder / str(number)
    entries = [entry(each) for each in found]
    grown = tiles.grow(0, [leaf_hash(each) for each in entries], {})
    files = {tile.path: data for tile, data in grown.items()}
    for at in range(0, len(entries), tiles.WIDTH):
        part = entries[at : at + tiles.WIDTH]
        files[tiles.entries_path(at // tiles.WIDTH, len(part))] = tiles.encode_entries(part)
    files["checkpoint"] = signer.sign(checkpoint(origin, found).text()).encode()
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
