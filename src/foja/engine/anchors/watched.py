"""A network whose every use is reported: what it answered is its health."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from foja.engine.anchors.network import (
    Batch,
    Confirmed,
    Drafted,
    Network,
    Place,
    Progress,
    Readiness,
    Refused,
)
from foja.engine.faults import Reports
from foja.errors import FojaError, Unavailable

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class WatchedNetwork:
    """The same network; each call says how it went."""

    network: Network
    report: Reports

    @property
    def name(self) -> str:
        """Its name."""
        return self.network.name

    @property
    def account(self) -> str | None:
        """The account whose nonces the batches use."""
        return self.network.account

    async def check(self) -> Readiness:
        """Ask whether anchors can be made now. What is missing is a failure."""
        ready = await self._told(self.network.check())
        if ready.missing:
            self.report(self._part, Unavailable("; ".join(ready.missing)))
        return ready

    async def draft(self, root: bytes, nonce: int | None) -> Drafted:
        """Sign what will be sent."""
        return await self.network.draft(root, nonce)

    async def send(self, batch: Batch) -> Progress:
        """Send what was drafted."""
        return await self._told(self.network.send(batch))

    async def look(self, batch: Batch) -> Progress:
        """Ask whether it is confirmed."""
        return await self._told(self.network.look(batch))

    async def watch(self, batch: Batch) -> Confirmed | Refused:
        """Ask whether it still is."""
        return await self._told(self.network.watch(batch))

    def prove(self, batch: Batch, place: Place) -> bytes:
        """Return the proof of one digest."""
        return self.network.prove(batch, place)

    @property
    def _part(self) -> str:
        return f"network:{self.name}"

    async def _told(self, call: Awaitable[Answer]) -> Answer:
        try:
            answer = await call
        except FojaError as error:
            self.report(self._part, error)
            raise
        if not (isinstance(answer, Readiness) and answer.missing):
            self.report(self._part, None)
        return answer
