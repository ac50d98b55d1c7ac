"""An outage of the database, which no table can remember: kept in memory, said once by each process."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Literal

from foja.domains.alerts.channels import Channel
from foja.errors import FojaError
from foja.pure.models.alerts.notice import Message

log = logging.getLogger("foja.alerts")


class Outage:
    """Tells every channel when an outage has lasted long enough, and when it is over."""

    def __init__(
        self,
        channels: Sequence[Channel],
        seconds: float,
        notice: Callable[[Literal["fired", "cleared"]], Message],
    ) -> None:
        self._channels, self._seconds, self._notice = channels, seconds, notice
        self._since: float | None = None
        self._open: Message | None = None
        self._waiting: list[tuple[Channel, Message]] = []

    async def seen(self) -> None:
        """Note that the database does not answer now."""
        self._since = self._since or time.monotonic()
        if self._open is None and time.monotonic() - self._since >= self._seconds:
            self._open = self._notice("fired")
            log.error("%s", self._open.summary)
            self._waiting += [(channel, self._open) for channel in self._channels]
        await self._send()

    async def over(self) -> None:
        """Note that the database answers."""
        self._since = None
        if self._open is not None:
            self._open = None
            cleared = self._notice("cleared")
            log.warning("cleared: %s", cleared.summary)
            self._waiting += [(channel, cleared) for channel in self._channels]
        await self._send()

    async def _send(self) -> None:
        """Send what waits; what cannot be sent is tried again at the next look."""
        waiting, self._waiting = self._waiting, []
        results = await asyncio.gather(
            *(channel.send(notice) for channel, notice in waiting), return_exceptions=True
        )
        for each, result in zip(waiting, results, strict=True):
            if isinstance(result, FojaError):
                log.warning("a notice was not sent: %s", result)
                self._waiting.append(each)
            elif isinstance(result, BaseException):
                raise result
