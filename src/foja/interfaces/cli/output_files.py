"""Write files for the user: complete or not at all, and never over another file without --force."""

from __future__ import annotations

import errno
import os
import secrets
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from foja.errors import FojaError, SetupFailed

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def check_targets(arguments: Namespace, *targets: Path | None) -> None:
    """Raise `SetupFailed` if a file exists, unless --force is given, or has no folder; call it first."""
    paths = [path for path in targets if path is not None]
    for at, path in enumerate(paths):
        if path.resolve() in [other.resolve() for other in paths[:at]]:
            raise SetupFailed(f"two outputs have the same name, {path}; give them different names")
        if os.path.lexists(path) and not _is_device(path) and not arguments.force:
            raise _exists(path)
        if not path.parent.is_dir():
            raise SetupFailed(
                f"{path} cannot be written: {path.parent} is not a folder; create it, or give another name"
            )


@contextmanager
def new_file(arguments: Namespace, target: Path) -> Iterator[BinaryIO]:
    """Yield a file that becomes `target` when the block ends, and is removed if the block fails."""
    if _is_device(target):
        with target.open("wb") as file:
            yield file
        return
    check_targets(arguments, target)
    final = target.resolve() if arguments.force else target
    unfinished = final.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        with unfinished.open("xb") as file:
            yield file
        if not arguments.force:
            _claim(final)
        unfinished.replace(final)
    except (OSError, FojaError) as error:
        if _is_disk_full(error):
            raise SetupFailed(
                f"{target} was not written: no space is left on its disk; free space, or give another place"
            ) from error
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def write_file(arguments: Namespace, target: Path, data: str | bytes) -> None:
    """Write a whole file; text is in UTF-8."""
    with new_file(arguments, target) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def _is_disk_full(error: BaseException | None) -> bool:
    """Return whether a full disk is the reason; a transaction around the work takes it for its own error."""
    if isinstance(error, FojaError):
        error = error.__cause__
    return isinstance(error, OSError) and error.errno in DISK_FULL


def _claim(target: Path) -> None:
    """Create an empty file under this name, or raise if another process was first.

    A rename cannot refuse to replace, and some file systems of removable disks have no links.
    """
    try:
        target.open("xb").close()
    except FileExistsError:
        raise _exists(target) from None


def _is_device(path: Path) -> bool:
    """Return whether writing to this path replaces no file: a terminal, a pipe, /dev/null."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _exists(path: Path) -> SetupFailed:
    return SetupFailed(f"{path} exists and was not replaced; give another name, or --force to replace it")
