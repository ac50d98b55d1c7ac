"""Locks that the kernel releases when their holder dies, even by kill -9.

Deliberately absent: pid files. A process number outlives its process and is reused.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foja.engine.private import open_file


def try_exclusive(lock: int) -> bool:
    """Take the lock exclusively and give up a share of it, or return False at once."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Open a lock file without taking the lock. Closing it releases the lock."""
    lock = open_file(path)
    try:
        yield lock
    finally:
        os.close(lock)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait for the lock and hold it exclusively."""
    with opened(path) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Share:
    """A shared lock: one use of something that many processes may use at once."""

    def __init__(self, path: Path) -> None:
        self._process = os.getpid()
        self._lock: int | None = open_file(path)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def release(self) -> bool:
        """Release the share. Return True if it was the last one. The caller holds the exclusive lock."""
        if self._lock is None:
            return False
        lock, self._lock = self._lock, None
        try:
            return os.getpid() == self._process and try_exclusive(lock)  # a forked child only has a copy
        finally:
            os.close(lock)
