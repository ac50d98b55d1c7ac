"""What an operator sees of the lanes: how long numbers take, and how often PostgreSQL steps in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from prometheus_client import REGISTRY

from foja.app import App
from tests.races.writers import SAY, words
from tests.redis_server import RedisServer


def numbers(lane: str) -> float:
    """Return how many numbers a lane gave, with their time."""
    return REGISTRY.get_sample_value("foja_sequence_allocation_seconds_count", {"lane": lane}) or 0.0


def fallbacks() -> float:
    return REGISTRY.get_sample_value("foja_sequence_fallbacks_total") or 0.0


async def test_each_lane_counts_its_numbers_and_an_outage_its_fallbacks(
    open_app: Callable[..., App], redis: RedisServer
) -> None:
    """Latency by lane, and fallbacks only while Redis is away."""
    async with open_app(redis_url=redis.url, micro_batch=False, lane_return_seconds=0.5) as app:
        talk = await app.conversations.open()
        await talk.append(SAY, words("0"))
        given, fallen = numbers("redis"), fallbacks()
        for turn in range(5):
            await talk.append(SAY, words(str(turn)))
        assert (numbers("redis") - given, fallbacks() - fallen) == (5, 0)
        redis.stop()
        by_database = numbers("postgres")
        for turn in range(3):
            await talk.append(SAY, words(str(turn)))
        assert fallbacks() - fallen >= 1
        assert numbers("postgres") - by_database == 3
        redis.start()
        after = numbers("redis")
        async with asyncio.timeout(60):
            while numbers("redis") == after:
                await talk.append(SAY, words("again"))
                await asyncio.sleep(0.02)
