"""What is in the folders that somebody names: every file, and a word about everything that is none."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Kind = Literal["link", "special file"]


@dataclass(slots=True)
class Found:
    """The files with the names they get, what could not be read, and what is left out on purpose."""

    files: list[tuple[Path, str]] = field(default_factory=list)
    unread: list[tuple[Path, OSError]] = field(default_factory=list)
    left_out: list[tuple[Path, Kind]] = field(default_factory=list)

    def take(self, path: Path, name: str) -> None:
        """Put one thing of a folder where it belongs. A link may lead anywhere, a pipe has no end."""
        try:
            mode = path.lstat().st_mode
        except OSError as error:
            self.unread.append((path, error))
            return
        if stat.S_ISLNK(mode):
            self.left_out.append((path, "link"))
        elif stat.S_ISREG(mode):
            self.files.append((path, name))
        elif not stat.S_ISDIR(mode):
            self.left_out.append((path, "special file"))


def walk(paths: Sequence[Path]) -> Found:
    """Return what these hold. What is named itself is taken as it is; in a folder, files and folders are."""
    found = Found()
    for path in paths:
        if path.is_dir():
            _walk_folder(path.resolve(), found)
        else:
            found.files.append((path, path.name))
    return found


def _walk_folder(root: Path, found: Found) -> None:
    """Take everything below a folder, in order; a name there is the way from the folder on."""

    def unread(error: OSError) -> None:
        found.unread.append((Path(error.filename), error))

    for where, folders, files in os.walk(root, onerror=unread):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(where, name)
            found.take(path, path.relative_to(root.parent).as_posix())
