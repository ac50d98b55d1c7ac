"""Files below one folder. A path that leads out of it, by `..` or by a symbolic link, is refused."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from foja.errors import Refused, SetupFailed

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Root:
    """The folder that an agent may read and write. It was resolved when it was set."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> Root:
        """Return a root at an existing folder."""
        found = folder.resolve()
        if not found.is_dir():
            raise SetupFailed(f"{folder} is not a folder; give an existing one with --root")
        return cls(found)

    @contextmanager
    def reading(self, path: str) -> Iterator[BinaryIO]:
        """Open a file below the root, or raise `Refused`."""
        target = self._resolve(path)
        try:
            file = open(target, "rb", opener=_open_to_read)  # noqa: SIM115 - closed below
        except OSError as error:
            raise Refused(f"{path} cannot be read: {error.strerror}; check the path below the root") from None
        with file:
            opened = os.fstat(file.fileno())
            if not stat.S_ISREG(opened.st_mode):
                raise Refused(f"{path} is not a file; give the path of one")
            # A folder on the way may have been replaced by a link since the path was resolved.
            if self._resolve(path) != target or not os.path.samestat(opened, os.lstat(target)):
                raise Refused(f"{path} was replaced while it was opened; try again")
            yield file

    def write(self, path: str, data: bytes) -> Path:
        """Write a new file below the root, or raise `Refused`; nothing is replaced."""
        target = self._resolve(path)
        try:
            number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise Refused(f"{path} cannot be written: {error.strerror}; choose another name") from None
        with os.fdopen(number, "wb") as file:
            file.write(data)
        return target

    def _resolve(self, path: str) -> Path:
        try:
            target = (self.folder / path).resolve()
        except (OSError, ValueError, RuntimeError):
            raise Refused(f"{path!r} is not a path; write it relative to the root") from None
        if not target.is_relative_to(self.folder):
            raise Refused(f"{path} is outside of the root {self.folder}; only files below it can be used")
        return target


def _open_to_read(path: str, flags: int) -> int:
    """Open a file, but not a link, and do not wait for the other end of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
