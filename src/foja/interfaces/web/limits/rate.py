"""The rate limit of each principal: 429 with Retry-After beyond it."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from foja.engine.settings import Settings
from foja.interfaces.web.limits.bucket import Bucket
from foja.interfaces.web.problems import Rejected
from foja.pure.models.access.principal import Principal

if TYPE_CHECKING:
    from foja.interfaces.web.limits.shared import SharedBuckets

MAX_PRINCIPALS = 10_000
AWAY_SECONDS = 5.0  # how long a Redis that failed is not asked
log = logging.getLogger("foja.web")


class RateLimit:
    """Counts requests by principal, through Redis where there is one, else in this process."""

    def __init__(self, settings: Settings, prefix: str) -> None:
        self.rate, self.burst = settings.rate_limit, settings.rate_burst
        self._own: OrderedDict[str, Bucket] = OrderedDict()
        self._shared: SharedBuckets | None = None
        self._away_until = 0.0
        if self.rate and settings.redis_url:
            from foja.interfaces.web.limits.shared import (
                SharedBuckets,  # late: its library takes long to import
            )

            self._shared = SharedBuckets(
                settings.redis_url, prefix, self.rate, self.burst, settings.redis_timeout_seconds
            )
        elif self.rate:
            log.debug("the rate limit counts requests of this process alone: FOJA_REDIS_URL is not set")

    async def admit(self, principal: Principal) -> None:
        """Count a request; raise `Rejected` (429) if there are too many."""
        await self._admit(f"{principal.tenant}\n{principal.actor}")

    async def admit_stranger(self) -> None:
        """Count a request of somebody without a key, all of them together; raise `Rejected` likewise."""
        await self._admit("")

    async def _admit(self, key: str) -> None:
        if not self.rate:
            return
        wait = await self._take(key)
        if wait > 0:
            raise Rejected(
                429,
                "Too many requests.",
                f"at most {self.rate:g} a second (FOJA_RATE_LIMIT); wait, or send more in one request",
                retry_after=wait,
            )

    async def _take(self, key: str) -> float:
        if self._shared and time.monotonic() >= self._away_until:
            try:
                return await self._shared.take(key)
            except self._shared.BROKEN as error:
                if time.monotonic() < self._away_until:
                    return self._take_own(key)
                self._away_until = time.monotonic() + AWAY_SECONDS
                log.warning("Redis does not answer; this process counts requests alone: %s", error)
        return self._take_own(key)

    def _take_own(self, key: str) -> float:
        now = time.monotonic()
        bucket = self._own.get(key)
        if bucket is None:
            bucket = self._own[key] = Bucket(self.rate, self.burst, self.burst, now)
        self._own.move_to_end(key)
        while len(self._own) > MAX_PRINCIPALS:
            self._own.popitem(last=False)
        return bucket.take(now)

    async def close(self) -> None:
        """Close the connections."""
        if self._shared:
            await self._shared.close()
