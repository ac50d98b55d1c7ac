"""A bundle's file, read so that two readers can never see two things in it.

The directory at the end names the entries; from them alone `archive` derives every byte that is not a file,
and all of it must be there, in that order, and nothing else. What is wrong gets a name first: the general
answer, `ZIP_LAYOUT`, is for what nobody thought of.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO
from zlib import crc32

from foja.core.bundle import archive
from foja.core.bundle.archive import BIG, CENTRAL, CENTRAL_FIELDS, END, END_FIELDS, MANY, ZipEntry
from foja.core.bundle.names import MEDIA_TYPE, MIMETYPE, check_name
from foja.errors import BadBundle

MAX_ENTRIES = 4096
LONGEST_DIRECTORY = 4 << 20
SMALL = 16 << 20
CHUNK = 1 << 20
_UNIX, _MACOS = 3, 19
_LOCATOR, _END = archive.LOCATOR64_FIELDS.size, END_FIELDS.size


@dataclass(frozen=True, slots=True)
class Container:
    """The entries of a bundle in their order, and where their bytes begin."""

    file: BinaryIO
    entries: tuple[ZipEntry, ...]
    starts: dict[str, int]
    named: dict[str, ZipEntry]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, in the order of the file."""
        return tuple(entry.name for entry in self.entries)

    def __contains__(self, name: str) -> bool:
        return name in self.starts

    def size(self, name: str) -> int:
        """Return how many bytes a file has."""
        return self.named[name].size

    def read(self, name: str, limit: int = SMALL) -> bytes:
        """Return a file that has no reason to be large."""
        if self.size(name) > limit:
            raise BadBundle("ZIP_BOMB", f"{name} has {self.size(name)} bytes; no honest one has over {limit}")
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file of any size; raise at its end if its checksum is another."""
        entry = self.named[name]
        place, rest, crc = self.starts[name], entry.size, 0
        while rest:
            chunk = _at(self.file, place, min(rest, CHUNK))
            crc = crc32(chunk, crc)
            place, rest = place + len(chunk), rest - len(chunk)
            yield chunk
        if crc != entry.crc32:
            raise BadBundle("ZIP_CHECKSUM", f"{name} has another CRC-32 than its header says")


def looks_like(file: BinaryIO) -> bool:
    """Say whether this file means to be a ZIP at all."""
    file.seek(0)
    return file.read(4) == archive.LOCAL


def open_container(file: BinaryIO) -> Container:
    """Return the container in this file, or raise `BadBundle`. Digests are for others to check."""
    size = file.seek(0, 2)
    count, length, place = _ending(file, size)
    if length > LONGEST_DIRECTORY or count > MAX_ENTRIES:
        raise BadBundle("ZIP_BOMB", f"a directory of {count} entries in {length} bytes is not an honest one")
    if place + length > size:
        raise BadBundle("ZIP_LAYOUT", "the directory lies behind the end of the file")
    directory = _at(file, place, length)
    entries, places = _entries(directory, count)
    _check_distinct(entries)
    _check_places(entries, places, place)
    if archive.directory(entries) != directory + _at(file, place + length, size - place - length):
        raise BadBundle("ZIP_LAYOUT", "the directory is not spelled as a bundle's is")
    named = {entry.name: entry for entry in entries}
    container = Container(file, tuple(entries), _starts(file, entries, places), named)
    _check_first(container)
    return container


def _ending(file: BinaryIO, size: int) -> tuple[int, int, int]:
    """Return how many entries there are, and length and place of the directory."""
    if size < _END:
        raise BadBundle("MALFORMED", "the file is too short to be a container")
    signature, *_, count, length, place, comment = END_FIELDS.unpack(_at(file, size - _END, _END))
    if signature != END or comment:
        raise BadBundle("ZIP_LAYOUT", "the file does not end where its container does")
    if count == MANY or BIG in (length, place):
        return _wide_ending(file, size)
    return count, length, place


def _wide_ending(file: BinaryIO, size: int) -> tuple[int, int, int]:
    at = size - _END - _LOCATOR - archive.END64_FIELDS.size
    if at < 0:
        raise BadBundle("ZIP_LAYOUT", "the large numbers of the container are missing")
    fields = archive.END64_FIELDS.unpack(_at(file, at, archive.END64_FIELDS.size))
    if fields[0] != archive.END64:
        raise BadBundle("ZIP_LAYOUT", "the large numbers of the container are not where they belong")
    count, length, place = fields[-3:]
    return count, length, place


def _entries(directory: bytes, count: int) -> tuple[list[ZipEntry], list[int]]:
    entries, places, at = [], [], 0
    for _ in range(count):
        entry, place, at = _entry(directory, at)
        entries.append(entry)
        places.append(place)
    if at != len(directory):
        raise BadBundle("ZIP_LAYOUT", "the directory is longer than its entries")
    return entries, places


def _entry(directory: bytes, at: int) -> tuple[ZipEntry, int, int]:
    try:
        fields = CENTRAL_FIELDS.unpack_from(directory, at)
    except struct.error:
        raise BadBundle("ZIP_LAYOUT", "the directory ends in the middle of an entry") from None
    signature, made, *_, crc, packed, size, named, more, comment, _, _, mode, place = fields
    start = at + CENTRAL_FIELDS.size
    end = start + named + more + comment
    if signature != CENTRAL or end > len(directory):
        raise BadBundle("ZIP_LAYOUT", "the directory ends in the middle of an entry")
    name = _name(directory[start : start + named])
    _check_unlinked(name, made >> 8, mode >> 16)
    wide = iter(_wide(directory[start + named : start + named + more]))
    size, packed, place = (next(wide, BIG) if each == BIG else each for each in (size, packed, place))
    _check_unfolded(name, packed, size)
    return ZipEntry(name, size, crc), place, end


def _name(data: bytes) -> str:
    try:
        name = data.decode()
    except UnicodeDecodeError:
        raise BadBundle("ZIP_LAYOUT", f"{data!a} is not a name in UTF-8") from None
    check_name(name)
    return name


def _wide(extra: bytes) -> Sequence[int]:
    """Return the large numbers of an entry, if its extra field holds only them."""
    if len(extra) < 4 or (len(extra) - 4) % 8 or extra[:2] != b"\x01\x00":
        return ()
    return struct.unpack(f"<{(len(extra) - 4) // 8}Q", extra[4:])


def _check_unlinked(name: str, system: int, mode: int) -> None:
    if system in (_UNIX, _MACOS) and stat.S_ISLNK(mode):
        raise BadBundle("SYMLINK", f"{name} is a link to elsewhere, not a file")


def _check_unfolded(name: str, packed: int, size: int) -> None:
    if packed != size:
        raise BadBundle("ZIP_BOMB", f"{name} claims to unfold from {packed} to {size} bytes; nothing may")


def _check_distinct(entries: Sequence[ZipEntry]) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise BadBundle("DUPLICATE_ENTRY", f"{entry.name} is there twice; which one is meant?")
        seen.add(entry.name)


def _check_places(entries: Sequence[ZipEntry], places: Sequence[int], directory: int) -> None:
    """Every file must begin where the one before it ended."""
    if archive.offsets(entries) != [*places, directory]:
        raise BadBundle("ZIP_LAYOUT", "there is something between the files, or they lie upon each other")


def _starts(file: BinaryIO, entries: Sequence[ZipEntry], places: Sequence[int]) -> dict[str, int]:
    starts = {}
    for entry, place in zip(entries, places, strict=True):
        header = archive.local_header(entry)
        if _at(file, place, len(header)) != header:
            raise BadBundle("LOCAL_HEADER_MISMATCH", f"{entry.name} is called otherwise where its bytes lie")
        starts[entry.name] = place + len(header)
    return starts


def _check_first(container: Container) -> None:
    if container.names[:1] != (MIMETYPE,) or container.read(MIMETYPE) != MEDIA_TYPE:
        raise BadBundle("ZIP_LAYOUT", f"the first file is not {MIMETYPE}, or says another type")


def _at(file: BinaryIO, place: int, length: int) -> bytes:
    file.seek(place)
    data = file.read(length)
    if len(data) != length:
        raise BadBundle("ZIP_LAYOUT", "the file is shorter than its directory says")
    return data
