"""A token bucket. Pure: the time is an argument."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Bucket:
    """Tokens that come back at a rate, up to a burst."""

    rate: float  # tokens per second
    burst: float
    tokens: float
    at: float

    def take(self, now: float) -> float:
        """Take one token; return 0, or in how many seconds there will be one."""
        self.tokens = min(self.burst, self.tokens + max(0.0, now - self.at) * self.rate)
        self.at = max(self.at, now)
        if self.tokens >= 1:
            self.tokens -= 1
            return 0.0
        return (1 - self.tokens) / self.rate
