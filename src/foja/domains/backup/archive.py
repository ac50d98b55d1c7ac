"""The archive of a backup: a tar file with one possible encoding, and the SHA-256 digest of every part.

Other tools can read it: `tar --extract`, then `sha256sum --check SHA256SUMS`. It is written and read as a
stream. The reader is closed: it accepts only the bytes that the writer makes for these names and contents,
so that a changed byte anywhere is found. Deliberately absent: `tarfile.open`, which accepts much more.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Self, cast

from foja.errors import Malformed, Tampered

SUMS = "SHA256SUMS"
BLOCK, CHUNK, SMALL = 512, 1 << 20, 1 << 24
END = bytes(2 * BLOCK)
MAX_PART_BYTES = 1 << 53
_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_NAME = re.compile(rf"(?=.{{1,99}}$){_SEGMENT}(?:/{_SEGMENT})*")


class ArchiveWriter:
    """Writes an archive. Without `finish` it is not complete, and no reader accepts it."""

    def __init__(self, target: BinaryIO) -> None:
        self._target, self._sums = target, SpooledTemporaryFile(SMALL)  # noqa: SIM115
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._sums.close()

    def add(self, name: str, data: bytes) -> None:
        """Write a part from memory."""
        self._begin(name, len(data))
        self._write(data)
        self._end(name, len(data), hashlib.sha256(data).hexdigest())

    def copy(self, name: str, size: int, source: BinaryIO) -> None:
        """Write a part of this size from a stream. Raise `Tampered` if the stream has another size."""
        self._begin(name, size)
        digest, left = hashlib.sha256(), size
        while chunk := source.read(min(CHUNK, left)):
            digest.update(chunk)
            self._write(chunk)
            left -= len(chunk)
        if left or source.read(1):
            raise Tampered(f"{name} does not have {size} bytes any more: it changed while it was read")
        self._end(name, size, digest.hexdigest())

    def finish(self) -> str:
        """Write the digests of all parts, and the end. Return their digest, which names the backup."""
        self._sums.seek(0)
        data = self._sums.read()
        self._begin(SUMS, len(data))
        self._write(data)
        self._write(bytes(-len(data) % BLOCK) + END)
        return hashlib.sha256(data).hexdigest()

    def _begin(self, name: str, size: int) -> None:
        self._write(_header(name, size))

    def _end(self, name: str, size: int, digest: str) -> None:
        self._write(bytes(-size % BLOCK))
        self._sums.write(_line(name, digest))

    def _write(self, data: bytes) -> None:
        self._target.write(data)
        self.size += len(data)


class Part:
    """One part of an archive, readable once, as a stream."""

    def __init__(self, name: str, size: int, source: BinaryIO) -> None:
        self.name, self.size, self._source = name, size, source
        self._left, self._digest = size, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, and all that are left without a size."""
        wanted = self._left if size < 0 else min(size, self._left)
        data = _exactly(self._source, wanted)
        self._left -= wanted
        self._digest.update(data)
        return data

    def finish(self) -> str:
        """Read what is left, with the padding, and return the digest."""
        while self._left:
            self.read(CHUNK)
        _skip_zeros(self._source, -self.size % BLOCK, self.name)
        return self._digest.hexdigest()


class ArchiveReader:
    """Reads an archive once. `digest` names the backup when all parts were read, and is empty before."""

    def __init__(self, source: BinaryIO) -> None:
        self._source, self.digest = source, ""

    def parts(self) -> Iterator[Part]:
        """Yield every part but the digests, which are compared at the end.

        Raise `Malformed` or `Tampered` if the archive is not exactly what `ArchiveWriter` wrote. Parts that
        were read before may be wrong, too: rely on none of them until the last one was read.
        """
        with SpooledTemporaryFile(SMALL) as sums:
            while (part := _next(self._source)).name != SUMS:
                yield part
                sums.write(_line(part.name, part.finish()))
            digest = _check_sums(part, cast(BinaryIO, sums))
        _skip_zeros(self._source, len(END), "the end")
        if self._source.read(1):
            raise Malformed("the backup is damaged: bytes follow its end")
        self.digest = digest


def _next(source: BinaryIO) -> Part:
    block = _exactly(source, BLOCK)
    try:
        name = block[:100].rstrip(b"\0").decode("ascii")
        size = tarfile.nti(block[124:136])  # type: ignore[attr-defined]
        known = 0 <= size <= MAX_PART_BYTES and _header(name, size) == block
    except (tarfile.HeaderError, UnicodeDecodeError, ValueError):
        known = False
    if not known:
        raise Malformed(
            "the backup is damaged, or is not a backup: a header of a part is not valid; use another copy"
        )
    return Part(name, size, source)


def _check_sums(part: Part, expected: BinaryIO) -> str:
    """Compare the digests of the archive with those of its parts, and name the first part that differs."""
    expected.seek(0)
    for line in expected:
        if part.read(min(len(line), part.size)) != line:
            name = line[66:].decode().strip()
            raise Tampered(f"the backup is damaged: {name} does not have its digest; use another copy")
    if part.read(1):
        raise Tampered(f"the backup is damaged: {SUMS} names more parts than there are; use another copy")
    return part.finish()


def _header(name: str, size: int) -> bytes:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a part of a backup")
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry.tobuf(tarfile.GNU_FORMAT)


def _line(name: str, digest: str) -> bytes:
    return f"{digest}  {name}\n".encode()


def _exactly(source: BinaryIO, size: int) -> bytes:
    data = source.read(size)
    while len(data) < size and (more := source.read(size - len(data))):
        data += more
    if len(data) < size:
        raise Malformed("the file is not a backup, or not a whole one: it ends too early; use another copy")
    return data


def _skip_zeros(source: BinaryIO, size: int, where: str) -> None:
    if any(_exactly(source, size)):
        raise Malformed(f"the backup is damaged: the bytes after {where} are not zero")
