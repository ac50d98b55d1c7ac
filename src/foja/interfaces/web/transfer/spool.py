"""A body as a temporary file that only this process can read; it is gone when the block ends."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def spooled(pieces: AsyncIterator[bytes]) -> AsyncIterator[Path]:
    """Yield the path of a file with all of a body: a slow client holds disk space, and no memory."""
    with tempfile.NamedTemporaryFile(prefix="foja-") as file:
        async for piece in pieces:
            await asyncio.to_thread(file.write, piece)
        file.flush()
        yield Path(file.name)
