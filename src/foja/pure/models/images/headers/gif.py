"""The size of a GIF, and its frames, counted block by block."""

from __future__ import annotations

from foja.pure.models.images.headers.fields import damaged, little, take

MAX_BLOCKS = 500_000  # of data, in all frames: 25 MB have about 100,000
_IMAGE, _EXTENSION, _END = 0x2C, 0x21, 0x3B


def read_size(data: bytes) -> tuple[int, int, int]:
    """Return width, height and the number of frames."""
    width, height = little(data, 6, 2), little(data, 8, 2)
    at, frames, left = 13 + _table(take(data, 10, 1)[0]), 0, MAX_BLOCKS
    while (code := take(data, at, 1)[0]) != _END:
        if code == _IMAGE:
            frames += 1
            width = max(width, little(data, at + 1, 2) + little(data, at + 5, 2))
            height = max(height, little(data, at + 3, 2) + little(data, at + 7, 2))
            at += 11 + _table(take(data, at + 9, 1)[0])
        elif code == _EXTENSION:
            at += 2
        else:
            raise damaged(f"the GIF has the unknown block {code:#04x} at byte {at:,}")
        at, left = _after_blocks(data, at, left)
    if not frames:
        raise damaged("the GIF has no image")
    return width, height, frames


def _table(flags: int) -> int:
    """Return the bytes of the colour table that the flags announce."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(data: bytes, at: int, left: int) -> tuple[int, int]:
    """Return the position after a chain of data blocks, and how many more the file may have."""
    while length := take(data, at, 1)[0]:
        at, left = at + 1 + length, left - 1
        if left <= 0:
            raise damaged(f"the GIF has more than {MAX_BLOCKS:,} blocks of data")
    return at + 1, left - 1
