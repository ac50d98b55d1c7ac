"""Read numbers from bytes; a file that ends too early or contradicts itself is refused."""

from __future__ import annotations

from foja.errors import ImageRefused


def take(data: bytes, at: int, count: int) -> bytes:
    """Return `count` bytes at a position, or raise `ImageRefused` if the file ends before."""
    found = data[at : at + count]
    if len(found) < count:
        raise cut_short(at + count, len(data))
    return found


def big(data: bytes, at: int, count: int) -> int:
    """Return the big-endian number at a position."""
    return int.from_bytes(take(data, at, count), "big")


def little(data: bytes, at: int, count: int) -> int:
    """Return the little-endian number at a position."""
    return int.from_bytes(take(data, at, count), "little")


def cut_short(needed: int, found: int) -> ImageRefused:
    """Return the refusal of a file that should be longer."""
    return ImageRefused(
        "image_cut_short",
        f"the image is cut short: it has {found:,} bytes and needs at least {needed:,}; send the whole file",
    )


def damaged(reason: str) -> ImageRefused:
    """Return the refusal of a file that no decoder can read as its format requires."""
    return ImageRefused("image_damaged", f"the image is damaged: {reason}; send it again, or another file")
