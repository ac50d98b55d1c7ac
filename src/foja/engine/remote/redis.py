"""Ask a Redis whether it answers."""

from __future__ import annotations

import asyncio

from redis import RedisError
from redis.asyncio import Redis

from foja.errors import Unavailable, redact


async def redis_version(url: str, *, seconds: float) -> str:
    """Return the version of a Redis, or raise `Unavailable`."""
    try:
        async with asyncio.timeout(seconds), Redis.from_url(url) as client:
            return str((await client.info("server"))["redis_version"])
    except TimeoutError:
        raise Unavailable(f"Redis does not answer within {seconds:g} seconds") from None
    except (RedisError, OSError, ValueError, KeyError) as error:
        raise Unavailable(f"Redis does not answer ({redact(str(error))})") from None
