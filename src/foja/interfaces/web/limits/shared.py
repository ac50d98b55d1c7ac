"""Token buckets in Redis, for all processes of an installation.

A process takes a few tokens at a time, so that a request rarely waits for Redis. Tokens that it does not
use within a second are lost.
"""

from __future__ import annotations

import time
from collections import OrderedDict

from redis.asyncio import Redis
from redis.exceptions import RedisError

MAX_KEYS = 10_000
KEPT_SECONDS = 1.0
REFILLS = 50  # a process takes the tokens of one such part of a second at once
SCRIPT = """\
local time = redis.call('time')
local now = time[1] + time[2] / 1000000
local rate, burst, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('hmget', KEYS[1], 'tokens', 'at')
local tokens = tonumber(kept[1]) or burst
tokens = math.min(burst, tokens + math.max(0, now - (tonumber(kept[2]) or now)) * rate)
local given = math.min(wanted, math.floor(tokens))
redis.call('hset', KEYS[1], 'tokens', tostring(tokens - given), 'at', tostring(now))
redis.call('pexpire', KEYS[1], math.ceil(burst / rate * 1000) + 1000)
return {given, tostring(math.max(0, 1 - (tokens - given)) / rate)}"""


class SharedBuckets:
    """The buckets of an installation in Redis."""

    BROKEN = (RedisError, OSError)

    def __init__(self, url: str, prefix: str, rate: float, burst: int, timeout: float) -> None:
        self._redis = Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)
        self._script = self._redis.register_script(SCRIPT)
        self._prefix, self._rate, self._burst = prefix, rate, burst
        self._taken: OrderedDict[str, tuple[int, float]] = OrderedDict()

    async def take(self, key: str) -> float:
        """Take one token; return 0, or in how many seconds there will be one. Raise one of `BROKEN`."""
        left, until = self._taken.get(key, (0, 0.0))
        now = time.monotonic()
        if left and now < until:
            self._taken[key] = (left - 1, until)
            return 0.0
        wanted = max(1, min(int(self._rate / REFILLS), self._burst // 10))
        given, wait = await self._script(
            keys=[f"{self._prefix}:{key}"], args=[self._rate, self._burst, wanted]
        )
        if not given:
            return max(float(wait), 1 / self._rate)
        self._taken[key] = (int(given) - 1, now + KEPT_SECONDS)
        self._taken.move_to_end(key)
        while len(self._taken) > MAX_KEYS:
            self._taken.popitem(last=False)
        return 0.0

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()
