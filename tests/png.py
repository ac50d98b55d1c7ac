"""Small images that are really images."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 8, height: int = 6, red: int = 200) -> bytes:
    """Return a PNG of one colour, 8-bit RGB."""
    row = b"\0" + bytes((red, 40, 40)) * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(row * height)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
