"""Read files for the user, and say on a terminal how far a long one is read."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from foja.files import open_descriptor
from foja.interfaces.cli.output import print_wait

if TYPE_CHECKING:
    from typing_extensions import Buffer

QUIET_SECONDS = 2.0


class _Shown(io.FileIO):
    """A file that says every two seconds how much of it is read."""

    def __init__(self, path: Path) -> None:
        super().__init__(open_descriptor(path))
        self._path, self._said = path, time.monotonic()

    def readinto(self, buffer: Buffer, /) -> int | None:
        if (now := time.monotonic()) - self._said >= QUIET_SECONDS:
            size = self._path.stat().st_size
            print_wait(f"reading {self._path}: {self.tell():,} of {size:,} bytes")
            self._said = now
        return super().readinto(buffer)


def open_shown(path: Path) -> BinaryIO:
    """Return an open regular file that a command may read for long."""
    return io.BufferedReader(_Shown(path))
