"""Regular files only, so that no command waits or reads for ever."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO, TypeAlias

Named: TypeAlias = "str | os.PathLike[str]"
_SPECIAL = "it is a special file, which may have no end; copy its content to a file, and give that"


def open_descriptor(path: Named) -> int:
    """Return the descriptor of a regular file; raise `OSError` for a folder, a pipe or a device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # no wait for a pipe's writer
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    number, reason = errno.EINVAL, _SPECIAL
    if stat.S_ISDIR(mode):
        number, reason = errno.EISDIR, os.strerror(errno.EISDIR)
    raise OSError(number, reason, str(path))


def open_file(path: Named) -> BinaryIO:
    """Return an open regular file."""
    return os.fdopen(open_descriptor(path), "rb")


def read_file(path: Named, most: int | None = None) -> bytes:
    """Return the content of a regular file; raise `OSError` before it is read if it is larger than `most`."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if most is None or size <= most:
            return file.read(-1 if most is None else most)
    raise OSError(errno.EFBIG, f"it has {size:,} bytes; at most {most:,} can be right here", str(path))
