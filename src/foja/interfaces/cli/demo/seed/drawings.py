"""Drawings of furniture as PNG files, made of rectangles. They need no library and no file of others."""

from __future__ import annotations

import struct
import zlib

Colour = tuple[int, int, int]
Box = tuple[float, float, float, float]  # left, top, right, bottom, as parts of the picture
WALL, FLOOR, LIGHT = (238, 234, 226), (214, 206, 194), (255, 236, 170)


def chair(wood: Colour, width: int = 640) -> bytes:
    """Return a chair: back, seat and four legs."""
    shade = _darker(wood)
    boxes: list[tuple[Box, Colour]] = [
        ((0.34, 0.14, 0.40, 0.88), shade),
        ((0.60, 0.14, 0.66, 0.88), shade),
        ((0.34, 0.16, 0.66, 0.24), wood),
        ((0.34, 0.30, 0.66, 0.38), wood),
        ((0.28, 0.52, 0.72, 0.60), wood),
        ((0.28, 0.60, 0.33, 0.94), shade),
        ((0.67, 0.60, 0.72, 0.94), shade),
    ]
    return _draw(width, width, boxes)


def lamp(metal: Colour, width: int = 480) -> bytes:
    """Return a lamp: its light, shade, pole and foot."""
    boxes: list[tuple[Box, Colour]] = [
        ((0.18, 0.38, 0.82, 0.62), LIGHT),
        ((0.30, 0.12, 0.70, 0.38), metal),
        ((0.48, 0.38, 0.52, 0.88), _darker(metal)),
        ((0.34, 0.86, 0.66, 0.92), metal),
    ]
    return _draw(width, width * 4 // 3, boxes)


def table(wood: Colour, width: int = 800) -> bytes:
    """Return a table: top, rail and legs."""
    shade = _darker(wood)
    boxes: list[tuple[Box, Colour]] = [
        ((0.10, 0.40, 0.90, 0.48), wood),
        ((0.16, 0.48, 0.84, 0.54), shade),
        ((0.16, 0.48, 0.21, 0.90), shade),
        ((0.79, 0.48, 0.84, 0.90), shade),
    ]
    return _draw(width, width * 3 // 4, boxes)


def _draw(width: int, height: int, boxes: list[tuple[Box, Colour]]) -> bytes:
    """Return a PNG of a room with these boxes in front of each other, the last one in front."""
    rows: list[bytes] = []
    for y in range(height):
        row = bytearray(bytes(WALL if y < height * 0.78 else FLOOR) * width)
        for (left, top, right, bottom), colour in boxes:
            if top * height <= y < bottom * height:
                start, end = int(left * width), int(right * width)
                row[3 * start : 3 * end] = bytes(colour) * (end - start)
        rows.append(b"\0" + bytes(row))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _darker(colour: Colour) -> Colour:
    red, green, blue = (part * 3 // 4 for part in colour)
    return red, green, blue
