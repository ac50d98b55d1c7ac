"""Where the files of a log are read: over HTTP, or from a folder. A restart has the next number."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from foja.engine.remote.online import TileLog, connect
from foja.errors import ObjectMissing, SetupFailed, Unavailable
from foja.files import read_file

PATH = "/v1/log"  # of an installation of Foja


class Source(Protocol):
    """The files of all logs of an installation: `NUMBER/checkpoint`, `NUMBER/tile/…`."""

    async def read(self, path: str) -> bytes:
        """Return a file. Raise `ObjectMissing` if it is not there, `Unavailable` if that is not known."""


class Folder:
    """The folder `log` of an object store, or a copy of it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def read(self, path: str) -> bytes:
        """Return a file."""
        try:
            return await asyncio.to_thread(read_file, self._root / path)
        except (FileNotFoundError, NotADirectoryError):
            raise ObjectMissing(f"{path} is not in {self._root}") from None
        except OSError as error:
            raise Unavailable(f"{path} in {self._root} cannot be read: {error.strerror}") from None


@asynccontextmanager
async def open_source(place: str) -> AsyncIterator[Source]:
    """Yield the source at a URL or in a folder, or raise `SetupFailed`."""
    if place.startswith(("http://", "https://")):
        url = place if urlsplit(place).path.strip("/") else place.rstrip("/") + PATH
        async with connect(TileLog, url) as log:
            yield log
    elif await asyncio.to_thread(Path(place).is_dir):
        yield Folder(Path(place))
    else:
        raise SetupFailed(f"{place} is neither a URL nor a folder; name the address of a log, or its copy")
