"""Locks that the kernel takes back when their holder dies, even by kill -9.

Deliberately absent: files that hold process numbers. A number outlives its process and is given out again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def open_lock(path: Path) -> int:
    """Return a descriptor of the lock file, made if absent."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def take(lock: int) -> bool:
    """Hold the lock alone, or return False at once; a share held through it ends."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Wait until no other process is inside, then be the only one."""
    lock = open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


class Share:
    """One use of something that many processes may use at once."""

    def __init__(self, path: Path) -> None:
        self._process = os.getpid()
        self._lock: int | None = open_lock(path)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def end(self) -> bool:
        """Give the share back; True if nobody else holds one. Only inside a turn."""
        if self._lock is None:
            return False
        lock, self._lock = self._lock, None
        try:
            return os.getpid() == self._process and take(lock)  # a forked child only has a copy
        finally:
            os.close(lock)
