"""The size of an AVIF or HEIC: the largest image that its boxes describe, and its sequence of frames."""

from __future__ import annotations

from collections.abc import Iterator

from foja.pure.models.images.headers.fields import big, cut_short, damaged, take

MAX_BOXES = 10_000
# Boxes that contain others, and the bytes before their first one.
_CONTAINERS = {b"meta": 4, b"iprp": 0, b"ipco": 0}
_CONTAINERS |= dict.fromkeys((b"moov", b"trak", b"mdia", b"minf", b"stbl"), 0)


def read_size(data: bytes) -> tuple[int, int, int]:
    """Return width, height and the number of frames."""
    sizes, frames = [], 1
    for name, at in _boxes(data):
        if name == b"ispe":
            sizes.append((big(data, at + 4, 4), big(data, at + 8, 4)))
        elif name == b"stsz":
            frames = max(frames, big(data, at + 8, 4))
    if not sizes:
        raise damaged("no box of the file gives the size of an image")
    width, height = max(sizes, key=lambda size: size[0] * size[1])
    return width, height, frames


def brands(data: bytes) -> set[bytes]:
    """Return the brands that the file declares."""
    end = min(big(data, 0, 4), len(data), 1024)
    return {data[8:12], *(data[at : at + 4] for at in range(16, end - 3, 4))}


def _boxes(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the name of each box and where its content begins, boxes inside others included."""
    ends, at = [len(data)], 0
    for _ in range(MAX_BOXES):
        while ends and at >= ends[-1]:
            at = ends.pop()
        if not ends:
            return
        length, name, header = big(data, at, 4), take(data, at + 4, 4), 8
        if length == 1:
            length, header = big(data, at + 8, 8), 16
        length = length or ends[-1] - at
        if length < header:
            raise damaged(f"a box has a length of {length}")
        if at + length > ends[-1]:
            raise cut_short(at + length, ends[-1])
        yield name, at + header
        if name in _CONTAINERS:
            ends.append(at + length)
            at += header + _CONTAINERS[name]
        else:
            at += length
    raise damaged(f"the file has more than {MAX_BOXES:,} boxes")
