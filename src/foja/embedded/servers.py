"""The servers of an installation: the configured ones, else the embedded ones."""

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
    """Yield the administrator's URL, of the embedded server if no other is set."""
    if settings.database_url:
        check_address(settings.database_url)
        yield settings.database_url
        return
    async with _running(postgres.start, settings.home) as url:
        yield url


@asynccontextmanager
async def redis_url(settings: Settings) -> AsyncIterator[str]:
    """Yield the URL of the Redis in use, or an empty string. Start Redis if it is the embedded one."""
    if settings.sequence_lane == "redis" and not settings.redis_url:
        raise SetupFailed(
            "FOJA_SEQUENCE_LANE is redis, but no Redis is set; set FOJA_REDIS_URL, or choose auto or postgres"
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
        # Wait even after an interrupt: a server that is not released would keep running.
        await asyncio.to_thread((await starting).release)
