"""The size of a PNG, the frames of an APNG, and whether its last chunk is there."""

from __future__ import annotations

from foja.pure.models.images.headers.fields import big, cut_short, damaged, take

MAX_CHUNKS = 100_000


def read_size(data: bytes) -> tuple[int, int, int]:
    """Return width, height and the number of frames."""
    if take(data, 8, 8) != b"\x00\x00\x00\x0dIHDR":
        raise damaged("the PNG does not begin with its header")
    at, frames = 33, 1
    for _ in range(MAX_CHUNKS):
        length, name = big(data, at, 4), take(data, at + 4, 4)
        if at + 12 + length > len(data):
            raise cut_short(at + 12 + length, len(data))
        if name == b"acTL":
            frames = max(frames, big(data, at + 8, 4))
        if name == b"IEND":
            return big(data, 16, 4), big(data, 20, 4), frames
        at += 12 + length
    raise damaged(f"the PNG has more than {MAX_CHUNKS:,} chunks")
