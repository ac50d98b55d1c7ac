"""The size of a JPEG: the first frame header among its segments."""

from __future__ import annotations

from foja.pure.models.images.headers.fields import big, damaged, take

MAX_SEGMENTS = 10_000
_NO_FRAME = {0xC4, 0xC8, 0xCC}  # tables and a reserved marker, among those of frames
_ALONE = {0x01, *range(0xD0, 0xD9)}  # markers without a segment
_SCAN, _END = 0xDA, 0xD9


def read_size(data: bytes) -> tuple[int, int, int]:
    """Return width, height and the number of frames, which is 1."""
    at = 2
    for _ in range(MAX_SEGMENTS):
        at, marker = _marker(data, at)
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            return big(data, at + 5, 2), big(data, at + 3, 2), 1
        if marker in (_SCAN, _END):
            break
        if marker not in _ALONE:
            length = big(data, at, 2)
            if length < 2:
                raise damaged(f"a segment of the JPEG has a length of {length}")
            at += length
    raise damaged("the JPEG has no frame header before its data")


def _marker(data: bytes, at: int) -> tuple[int, int]:
    """Return the position after the next marker, and the marker. Fill bytes are skipped."""
    if take(data, at, 1) != b"\xff":
        raise damaged(f"the JPEG has no marker at byte {at:,}")
    code = len(data) - len(data[at:].lstrip(b"\xff")) if data[at : at + 2] == b"\xff\xff" else at + 1
    return code + 1, take(data, code, 1)[0]
