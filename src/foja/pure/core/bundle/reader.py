"""Read a bundle so strictly that two readers cannot see different contents.

The directory at the end names the entries. From the entries `archive` derives every byte that is not file
content, and the file must hold exactly these bytes in this order. Known faults have a reason of their own;
`ZIP_LAYOUT` is the reason for all others.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO
from zlib import crc32

from foja.errors import BadBundle
from foja.pure.core.bundle import archive
from foja.pure.core.bundle.archive import BIG, CENTRAL, CENTRAL_FIELDS, END, END_FIELDS, MANY, ZipEntry
from foja.pure.core.bundle.names import MEDIA_TYPE, MIMETYPE, check_name
from foja.pure.quotation import quoted

MAX_ENTRIES = 4096
LONGEST_DIRECTORY = 4 << 20
SMALL = 4 << 20
CHUNK = 1 << 20
_UNIX, _MACOS = 3, 19
_LOCATOR, _END = archive.LOCATOR64_FIELDS.size, END_FIELDS.size


@dataclass(frozen=True, slots=True)
class Container:
    """The entries of a bundle in order, and the offsets of their contents."""

    file: BinaryIO
    entries: dict[str, ZipEntry]  # by name
    starts: dict[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, in file order."""
        return tuple(self.entries)

    def __contains__(self, name: str) -> bool:
        return name in self.starts

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        return self.entries[name].size

    def read(self, name: str, limit: int = SMALL) -> bytes:
        """Return the content of a file, or raise `BadBundle` if it is larger than `limit`."""
        if (size := self.size(name)) > limit:
            raise BadBundle("ZIP_BOMB", f"{quoted(name)} has {size} bytes; at most {limit} are read")
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file of any size; raise at its end if its checksum is wrong."""
        entry = self.entries[name]
        offset, rest, crc = self.starts[name], entry.size, 0
        while rest:
            chunk = _read_at(self.file, offset, min(rest, CHUNK))
            crc = crc32(chunk, crc)
            offset, rest = offset + len(chunk), rest - len(chunk)
            yield chunk
        if crc != entry.crc32:
            raise BadBundle("ZIP_CHECKSUM", f"{quoted(name)} does not match the CRC-32 in its header")


def starts_like_zip(file: BinaryIO) -> bool:
    """Return whether this file starts with a ZIP header."""
    file.seek(0)
    return file.read(4) == archive.LOCAL


def open_container(file: BinaryIO, media_type: bytes = MEDIA_TYPE) -> Container:
    """Return the container of this type in a file, or raise `BadBundle`. Digests are not checked here."""
    size = file.seek(0, 2)
    count, length, offset = ending_of(file, size)
    if length > LONGEST_DIRECTORY or count > MAX_ENTRIES:
        raise BadBundle("ZIP_BOMB", f"a directory of {count} entries in {length} bytes is over the limit")
    if offset + length > size:
        raise BadBundle("ZIP_LAYOUT", "the directory is beyond the end of the file")
    directory = _read_at(file, offset, length)
    entries, offsets = _entries(directory, count)
    _check_distinct(entries)
    if archive.offsets(entries) != [*offsets, offset]:
        raise BadBundle("ZIP_LAYOUT", "there are bytes between the files, or the files overlap")
    host = archive.FIRST_HOST if directory[5:6] == b"\0" else archive.UNIX
    ending = _read_at(file, offset + length, size - offset - length)
    if archive.directory(entries, host) != directory + ending:
        raise BadBundle("ZIP_LAYOUT", "the directory is not encoded as a bundle requires")
    container = Container(file, {entry.name: entry for entry in entries}, _starts(file, entries, offsets))
    if container.names[:1] != (MIMETYPE,) or container.read(MIMETYPE) != media_type:
        raise BadBundle("ZIP_LAYOUT", f"the first file is not {MIMETYPE}, or it names another type")
    return container


def ending_of(file: BinaryIO, size: int) -> tuple[int, int, int]:
    """Return the number of entries, and the length and offset of the directory."""
    if size < _END:
        raise BadBundle("MALFORMED", "the file is too short to be a container")
    signature, *_, count, length, offset, comment = END_FIELDS.unpack(_read_at(file, size - _END, _END))
    if signature != END or comment:
        raise BadBundle("ZIP_LAYOUT", "the file does not end with the end record of a container")
    if count == MANY or BIG in (length, offset):
        return _wide_ending(file, size)
    return count, length, offset


def _wide_ending(file: BinaryIO, size: int) -> tuple[int, int, int]:
    at = size - _END - _LOCATOR - archive.END64_FIELDS.size
    if at < 0:
        raise BadBundle("ZIP_LAYOUT", "the ZIP64 end record is missing")
    fields = archive.END64_FIELDS.unpack(_read_at(file, at, archive.END64_FIELDS.size))
    if fields[0] != archive.END64:
        raise BadBundle("ZIP_LAYOUT", "the ZIP64 end record is not in its place")
    count, length, offset = fields[-3:]
    return count, length, offset


def _entries(directory: bytes, count: int) -> tuple[list[ZipEntry], list[int]]:
    entries, offsets, at = [], [], 0
    for _ in range(count):
        entry, offset, at = _entry(directory, at)
        entries.append(entry)
        offsets.append(offset)
    if at != len(directory):
        raise BadBundle("ZIP_LAYOUT", "the directory is longer than its entries")
    return entries, offsets


def _entry(directory: bytes, at: int) -> tuple[ZipEntry, int, int]:
    try:
        fields = CENTRAL_FIELDS.unpack_from(directory, at)
    except struct.error:
        raise BadBundle("ZIP_LAYOUT", "the directory ends in the middle of an entry") from None
    signature, made, *_, crc, packed, size, named, more, comment, _, _, mode, offset = fields
    start = at + CENTRAL_FIELDS.size
    end = start + named + more + comment
    if signature != CENTRAL or end > len(directory):
        raise BadBundle("ZIP_LAYOUT", "the directory ends in the middle of an entry")
    name = _name(directory[start : start + named])
    if made >> 8 in (_UNIX, _MACOS) and stat.S_ISLNK(mode >> 16):
        raise BadBundle("SYMLINK", f"{quoted(name)} is a symbolic link, not a file")
    wide = iter(_wide(directory[start + named : start + named + more]))
    size, packed, offset = (next(wide, BIG) if each == BIG else each for each in (size, packed, offset))
    if packed != size:
        raise BadBundle(
            "ZIP_BOMB", f"{quoted(name)} expands from {packed} to {size} bytes; compression is refused"
        )
    return ZipEntry(name, size, crc), offset, end


def _name(data: bytes) -> str:
    try:
        name = data.decode()
    except UnicodeDecodeError:
        raise BadBundle("ZIP_LAYOUT", f"{quoted(str(data))} is not a name in UTF-8") from None
    check_name(name)
    return name


def _wide(extra: bytes) -> Sequence[int]:
    """Return the ZIP64 numbers of an entry, or none if its extra field holds anything else."""
    if len(extra) < 4 or (len(extra) - 4) % 8 or extra[:2] != b"\x01\x00":
        return ()
    return struct.unpack(f"<{(len(extra) - 4) // 8}Q", extra[4:])


def _check_distinct(entries: Sequence[ZipEntry]) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise BadBundle("DUPLICATE_ENTRY", f"{quoted(entry.name)} occurs twice")
        seen.add(entry.name)


def _starts(file: BinaryIO, entries: Sequence[ZipEntry], offsets: Sequence[int]) -> dict[str, int]:
    starts = {}
    for entry, offset in zip(entries, offsets, strict=True):
        header = archive.local_header(entry)
        if _read_at(file, offset, len(header)) != header:
            raise BadBundle(
                "LOCAL_HEADER_MISMATCH", f"{quoted(entry.name)} differs between directory and header"
            )
        starts[entry.name] = offset + len(header)
    return starts


def _read_at(file: BinaryIO, offset: int, length: int) -> bytes:
    file.seek(offset)
    data = file.read(length)
    if len(data) != length:
        raise BadBundle("ZIP_LAYOUT", "the file is shorter than its directory states")
    return data
