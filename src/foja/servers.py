"""The servers an installation stands on: those that are set, or else its own, started and released."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foja.embedded import postgres, redis
from foja.errors import SetupFailed
from foja.settings import Settings


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[str]:
    """Lend the administrator's URL, of the embedded server if no other is set."""
    if settings.database_url:
        yield settings.database_url
        return
    start = asyncio.ensure_future(asyncio.to_thread(postgres.start, settings.home))
    try:
        yield (await asyncio.shield(start)).url
    finally:
        # Waited for even if interrupted: a server that nobody releases would go on running.
        await asyncio.to_thread((await start).release)


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
    start = asyncio.ensure_future(asyncio.to_thread(redis.start, settings.home))
    try:
        yield (await asyncio.shield(start)).url
    finally:
        # Waited for even if interrupted, as above.
        await asyncio.to_thread((await start).release)
