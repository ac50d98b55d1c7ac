"""A worker beside a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foja.app import App


@asynccontextmanager
async def working(app: App) -> AsyncIterator[asyncio.Task[None]]:
    """Let the workers of an installation run meanwhile."""
    task = asyncio.create_task(app.work())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
