"""The ZIP layout of a bundle: the list of entries determines every byte between the files.

Entries are stored uncompressed, one after the other. Headers hold only name, size and CRC-32: no dates, no
attributes, no comments, no gaps. ZIP64 fields are used only where a number needs them. `reader` derives the
same bytes and compares them. The directory names Unix as its host: unzip of Debian reads names as UTF-8 only
then. Bundles of the first version name MS-DOS (`FIRST_HOST`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from zlib import crc32

STORED = 0
UTF8 = 0x0800
DAY = 0x0021  # 1980-01-01, the earliest date that a ZIP can hold
BIG = 0xFFFFFFFF
MANY = 0xFFFF
LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
END64, LOCATOR64 = b"PK\x06\x06", b"PK\x06\x07"
LOCAL_FIELDS = struct.Struct("<4s5H3I2H")
CENTRAL_FIELDS = struct.Struct("<4s6H3I5H2I")
END_FIELDS = struct.Struct("<4s4H2IH")
END64_FIELDS = struct.Struct("<4sQ2H2I4Q")
LOCATOR64_FIELDS = struct.Struct("<4sIQI")
_EXTRA_FIELDS = struct.Struct("<2H2Q")  # of a local header, if the file is large
_PLAIN, _ZIP64 = 20, 45
FIRST_HOST, UNIX = 0, 3
_MODE = 0o100644 << 16  # of a file that its owner may write


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """The header fields of one file."""

    name: str
    size: int
    crc32: int


@dataclass(frozen=True, slots=True)
class Part:
    """A file to write. `chunks` yields its bytes and is called once."""

    entry: ZipEntry
    sha256: bytes
    chunks: Callable[[], Iterable[bytes]]


def part(name: str, data: bytes) -> Part:
    """Return a small file as a part."""
    return Part(ZipEntry(name, len(data), crc32(data)), sha256(data).digest(), lambda: (data,))


def measured(name: str, chunks: Callable[[], Iterable[bytes]]) -> Part:
    """Return a large file as a part. It is read once to measure it and once more to write it."""
    digest, crc, size = sha256(), 0, 0
    for chunk in chunks():
        digest.update(chunk)
        crc = crc32(chunk, crc)
        size += len(chunk)
    return Part(ZipEntry(name, size, crc), digest.digest(), chunks)


def write(parts: Sequence[Part]) -> Iterator[bytes]:
    """Yield the container in pieces; hold no more than one chunk in memory."""
    for each in parts:
        yield local_header(each.entry)
        yield from each.chunks()
    yield directory([each.entry for each in parts])


def local_header(entry: ZipEntry) -> bytes:
    """Return the header that precedes a file."""
    name, large = entry.name.encode(), entry.size >= BIG
    extra = _EXTRA_FIELDS.pack(1, 16, entry.size, entry.size) if large else b""
    size = BIG if large else entry.size
    version = _ZIP64 if large else _PLAIN
    fields = LOCAL_FIELDS.pack(
        LOCAL, version, _flags(entry), STORED, 0, DAY, entry.crc32, size, size, len(name), len(extra)
    )
    return fields + name + extra


def directory(entries: Sequence[ZipEntry], host: int = UNIX) -> bytes:
    """Return everything that follows the last file."""
    starts = offsets(entries)
    central = b"".join(central_header(*each, host) for each in zip(entries, starts, strict=False))
    return central + ending(len(entries), len(central), starts[-1])


def offsets(entries: Iterable[ZipEntry]) -> list[int]:
    """Return the offset of each local header, then the offset of the directory."""
    starts = [0]
    for entry in entries:
        extra = _EXTRA_FIELDS.size if entry.size >= BIG else 0
        starts.append(starts[-1] + LOCAL_FIELDS.size + len(entry.name.encode()) + extra + entry.size)
    return starts


def central_header(entry: ZipEntry, offset: int, host: int = UNIX) -> bytes:
    """Return the directory entry of a file whose local header is at this offset."""
    name, large, far = entry.name.encode(), entry.size >= BIG, offset >= BIG
    wide = [entry.size, entry.size] * large + [offset] * far
    extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    size = BIG if large else entry.size
    version = _ZIP64 if wide else _PLAIN
    mode = _MODE if host == UNIX else 0
    numbers = (entry.crc32, size, size, len(name), len(extra), 0, 0, 0, mode, BIG if far else offset)
    made = host << 8 | version
    fields = CENTRAL_FIELDS.pack(CENTRAL, made, version, _flags(entry), STORED, 0, DAY, *numbers)
    return fields + name + extra


def ending(count: int, size: int, offset: int) -> bytes:
    """Return the end record of a container whose directory has this size and offset."""
    few, short, near = min(count, MANY), min(size, BIG), min(offset, BIG)
    end = END_FIELDS.pack(END, 0, 0, few, few, short, near, 0)
    if (few, short, near) == (count, size, offset) and few < MANY and short < BIG and near < BIG:
        return end
    wide = END64_FIELDS.pack(END64, 44, _ZIP64, _ZIP64, 0, 0, count, count, size, offset)
    return wide + LOCATOR64_FIELDS.pack(LOCATOR64, 0, offset + size, 1) + end


def _flags(entry: ZipEntry) -> int:
    return 0 if entry.name.isascii() else UTF8
