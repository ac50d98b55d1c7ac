"""How the batches of one network are made and looked at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from foja.engine.settings import Settings

WEI = 10**18  # of one POL


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorTerms:
    """The settings of one network's batches. Amounts are in the smallest unit of the network."""

    size: int = 10_000  # digests of a full batch
    seconds: float = 60.0  # that a digest waits for others, at most
    every: float = 15.0  # seconds between two looks at what is due
    longest_pause: float = 3600.0  # seconds between two looks at one batch, at most
    watch: timedelta = timedelta(days=7)  # how long a confirmed batch is looked at
    daily_cap: int | None = None


def terms_of(settings: Settings, network: str) -> AnchorTerms:
    """Return the terms of a network, as the settings have them."""
    own = settings.networks[network]
    return AnchorTerms(
        size=settings.anchor_batch_size,
        seconds=settings.anchor_batch_seconds,
        every=settings.anchor_poll_seconds,
        longest_pause=own.window_seconds / own.polls,
        watch=timedelta(seconds=settings.anchor_watch_seconds),
        daily_cap=None if own.daily_cap is None else round(own.daily_cap * 1_000_000) * (WEI // 1_000_000),
    )
