"""The servers an installation stands on: those that are set, or else its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from foja.driver.database import check_address
from foja.embedded import postgres, redis
from foja.errors import SetupFailed
from foja.settings import Settings


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[str]:
    """Lend the administrator's URL, of the embedded server if no other is set."""
    if settings.database_url:
        check_address(settings.database_url)
        yield settings.database_url
        return
    async with _running(postgres.start, settings.home) as url:
        yield url


@asynccontextmanager
async def redis_url(settings: Settings) -> AsyncIterator[str]:
    """Lend the URL of the Redis in use, started if it is the embedded one; empty if there is none."""
    if settings.sequence_lane == "redis" and not settings.redis_url:
        raise SetupFailed(
            "FOJA_SEQUENCE_LANE is redis and no Redis is set; set FOJA_REDIS_URL, or choose auto or postgres"
        )
    if settings.redis_url != "embedded":
        yield settings.redis_url
        return
    async with _running(redis.start, settings.home) as url:
        yield url


class _Server(Protocol):
    @property
    def url(self) -> str: ...
    def release(self) -> None: ...


@asynccontextmanager
async def _running(start: Callable[[Path], _Server], home: Path) -> AsyncIterator[str]:
    starting = asyncio.ensure_future(asyncio.to_thread(start, home))
    try:
        yield (await asyncio.shield(starting)).url
    finally:
        # Waited for even if interrupted: a server that nobody releases would go on running.
        await asyncio.to_thread((await starting).release)
