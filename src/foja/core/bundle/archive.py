"""How a bundle lies in its file: a ZIP with no freedom left in it.

Entries are stored as they are, one after the other, under headers that hold nothing but name, size and
CRC-32: no dates, no attributes, no comments, no gaps. ZIP64 is used where a number needs it and nowhere else.
So the list of entries alone decides every byte between the files, and `reading` compares them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from zlib import crc32

STORED = 0
UTF8 = 0x0800
DAY = 0x0021  # 1980-01-01, the first day a ZIP knows
BIG = 0xFFFFFFFF
MANY = 0xFFFF
LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
END64, LOCATOR64 = b"PK\x06\x06", b"PK\x06\x07"
LOCAL_FIELDS = struct.Struct("<4s5H3I2H")
CENTRAL_FIELDS = struct.Struct("<4s6H3I5H2I")
END_FIELDS = struct.Struct("<4s4H2IH")
END64_FIELDS = struct.Struct("<4sQ2H2I4Q")
LOCATOR64_FIELDS = struct.Struct("<4sIQI")
_PLAIN, _ZIP64 = 20, 45


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """What the headers say of one file."""

    name: str
    size: int
    crc32: int


@dataclass(frozen=True, slots=True)
class Part:
    """A file to be written: what it is, and its bytes, asked for once."""

    entry: ZipEntry
    sha256: bytes
    chunks: Callable[[], Iterable[bytes]]


def part(name: str, data: bytes) -> Part:
    """Return a small file as a part."""
    return Part(ZipEntry(name, len(data), crc32(data)), sha256(data).digest(), lambda: (data,))


def measured(name: str, chunks: Callable[[], Iterable[bytes]]) -> Part:
    """Return a large file as a part; it is read once to measure it, and once more to write it."""
    digest, crc, size = sha256(), 0, 0
    for chunk in chunks():
        digest.update(chunk)
        crc = crc32(chunk, crc)
        size += len(chunk)
    return Part(ZipEntry(name, size, crc), digest.digest(), chunks)


def write(parts: Sequence[Part]) -> Iterator[bytes]:
    """Yield the whole container, piece by piece; nothing larger than a chunk is held."""
    for each in parts:
        yield local_header(each.entry)
        yield from each.chunks()
    yield directory([each.entry for each in parts])


def local_header(entry: ZipEntry) -> bytes:
    """Return what stands right before a file."""
    name, large = entry.name.encode(), entry.size >= BIG
    extra = struct.pack("<2H2Q", 1, 16, entry.size, entry.size) if large else b""
    size = BIG if large else entry.size
    version = _ZIP64 if large else _PLAIN
    fields = LOCAL_FIELDS.pack(
        LOCAL, version, _flags(entry), STORED, 0, DAY, entry.crc32, size, size, len(name), len(extra)
    )
    return fields + name + extra


def directory(entries: Sequence[ZipEntry]) -> bytes:
    """Return everything that stands after the last file."""
    places = offsets(entries)
    central = b"".join(map(central_header, entries, places))
    return central + ending(len(entries), len(central), places[-1])


def offsets(entries: Iterable[ZipEntry]) -> list[int]:
    """Return where each local header begins, and where the directory does."""
    places = [0]
    for entry in entries:
        places.append(places[-1] + len(local_header(entry)) + entry.size)
    return places


def central_header(entry: ZipEntry, offset: int) -> bytes:
    """Return what the directory says of a file that lies at this offset."""
    name, large, far = entry.name.encode(), entry.size >= BIG, offset >= BIG
    wide = [entry.size, entry.size] * large + [offset] * far
    extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    size = BIG if large else entry.size
    version = _ZIP64 if wide else _PLAIN
    numbers = (entry.crc32, size, size, len(name), len(extra), 0, 0, 0, 0, BIG if far else offset)
    fields = CENTRAL_FIELDS.pack(CENTRAL, version, version, _flags(entry), STORED, 0, DAY, *numbers)
    return fields + name + extra


def ending(count: int, size: int, offset: int) -> bytes:
    """Return the end of a container whose directory has this length and place."""
    few, short, near = min(count, MANY), min(size, BIG), min(offset, BIG)
    end = END_FIELDS.pack(END, 0, 0, few, few, short, near, 0)
    if (few, short, near) == (count, size, offset) and few < MANY and short < BIG and near < BIG:
        return end
    wide = END64_FIELDS.pack(END64, 44, _ZIP64, _ZIP64, 0, 0, count, count, size, offset)
    return wide + LOCATOR64_FIELDS.pack(LOCATOR64, 0, offset + size, 1) + end


def _flags(entry: ZipEntry) -> int:
    return 0 if entry.name.isascii() else UTF8
