"""The size of a WebP in its three forms, and the frames of an animation."""

from __future__ import annotations

from collections.abc import Iterator

from foja.pure.models.images.headers.fields import cut_short, damaged, little, take

MAX_CHUNKS = 100_000
_FIRST = 12  # after the container's own header


def read_size(data: bytes) -> tuple[int, int, int]:
    """Return width, height and the number of frames."""
    name, body = take(data, _FIRST, 4), _FIRST + 8
    end = 8 + little(data, 4, 4)
    if end > len(data):
        raise cut_short(end, len(data))
    if name == b"VP8 ":
        if take(data, body + 3, 3) != b"\x9d\x01\x2a":
            raise damaged("the WebP has no key frame")
        return little(data, body + 6, 2) & 0x3FFF, little(data, body + 8, 2) & 0x3FFF, 1
    if name == b"VP8L":
        sizes = little(data, body + 1, 4)
        return (sizes & 0x3FFF) + 1, (sizes >> 14 & 0x3FFF) + 1, 1
    if name == b"VP8X":
        frames = sum(each == b"ANMF" for each in _chunks(data, end))
        return little(data, body + 4, 3) + 1, little(data, body + 7, 3) + 1, max(frames, 1)
    raise damaged("the WebP begins with an unknown chunk")


def _chunks(data: bytes, end: int) -> Iterator[bytes]:
    """Yield the name of each chunk of the container."""
    at = _FIRST
    for _ in range(MAX_CHUNKS):
        if at + 8 > end:
            return
        yield data[at : at + 4]
        length = little(data, at + 4, 4)
        at += 8 + length + length % 2
        if at - length % 2 > end:
            raise cut_short(at, end)
    raise damaged(f"the WebP has more than {MAX_CHUNKS:,} chunks")
