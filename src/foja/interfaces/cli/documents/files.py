"""List the files of given folders, and what is skipped or cannot be read; compute digests."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from foja.engine.blobs.transfer import copy, unchanged

Kind = Literal["link", "special file"]


@dataclass(slots=True)
class Found:
    """The files with their document names, what could not be read, and what is skipped on purpose."""

    files: list[tuple[Path, str]] = field(default_factory=list)
    unread: list[tuple[Path, OSError]] = field(default_factory=list)
    left_out: list[tuple[Path, Kind]] = field(default_factory=list)

    def add(self, path: Path, name: str) -> None:
        """Classify one entry of a folder. Links may point anywhere, pipes have no end: they are skipped."""
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
    """Return the files of these paths. A given path may be a link; links in folders are skipped."""
    found = Found()
    for path in paths:
        if path.is_dir():
            _walk_folder(path.resolve(), found)
        else:
            found.files.append((path, path.name))
    return found


def digest(path: Path) -> tuple[str, int]:
    """Return the digest and the size of a file."""
    with unchanged(path) as file:
        return copy(file)


def _walk_folder(root: Path, found: Found) -> None:
    """Add everything below a folder, in order; names are relative to the parent of the folder."""

    def unread(error: OSError) -> None:
        found.unread.append((Path(error.filename), error))

    for where, folders, files in os.walk(root, onerror=unread):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(where, name)
            found.add(path, path.relative_to(root.parent).as_posix())
