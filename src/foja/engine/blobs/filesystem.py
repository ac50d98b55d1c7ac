"""Folders and files that other processes delete meanwhile, and the sync of a whole filesystem.

For many small files one such sync takes a twentieth of the time of syncing each of them.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

MAX_DIRTY_KB = 64 * 1024  # more, and what others wrote would be waited for
MEMORY = Path("/proc/meminfo")
REPORTS_ERRORS = (5, 8)  # older versions of Linux lose the errors of this call
_DIRTY = re.compile(rb"^(?:Dirty|Writeback): +([0-9]+) kB$", re.MULTILINE)


def make(folder: Path) -> bool:
    """Create a folder; return False if it exists. `exist_ok` would fail if a deletion removes it then."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        return True
    return False


def rename(path: Path, target: Path) -> bool:
    """Rename a file; return False if a deletion removed the folder of the target."""
    with suppress(FileNotFoundError):
        path.rename(target)
        return True
    return False


def is_quick() -> bool:
    """Return whether `sync_all` can be relied on here, and little waits to be written now."""
    return _syncfs() is not None and _dirty_kb() <= MAX_DIRTY_KB


def sync_all(folder: Path) -> None:
    """Make everything on the filesystem of this folder survive a power cut."""
    syncfs = _syncfs()
    assert syncfs is not None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(descriptor)


@cache
def _syncfs() -> Any:
    """Return the function of the C library, or None where it is missing or loses errors."""
    if sys.platform != "linux" or _kernel(os.uname().release) < REPORTS_ERRORS:
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


def _kernel(release: str) -> tuple[int, ...]:
    """Return the version in the name of a release, such as `6.1.0-18-amd64`."""
    return tuple(map(int, re.findall(r"[0-9]+", release)[:2]))


def _dirty_kb() -> float:
    """Return how much waits to be written on all filesystems; infinite if the kernel does not say."""
    try:
        return sum(map(int, _DIRTY.findall(MEMORY.read_bytes())))
    except OSError:
        return float("inf")
