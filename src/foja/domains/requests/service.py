"""Remember under its key what a request made, so that the same request makes it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from foja.engine.ledger.ledger import Ledger
from foja.errors import IdempotencyConflict
from foja.pure.models.requests.events import ANSWERED, REQUEST, digest_of


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request of one principal to one address; without a key, nothing is remembered of it."""

    ledger: Ledger
    actor: str
    address: str
    key: str | None

    async def found(self, asked: Mapping[str, Any]) -> Sequence[str] | None:
        """Return what this request made before. Raise `IdempotencyConflict` if it asked otherwise."""
        if self.key is None or not (events := await self.ledger.events(self._stream(self.key), None, 1)):
            return None
        if events[0].payload is None or events[0].payload["asked"] != digest_of(self.key, asked):
            raise IdempotencyConflict(
                "this Idempotency-Key was sent with another body; use another key for another request"
            )
        made: Sequence[str] = events[0].payload["made"]
        return made

    async def known(self) -> bool:
        """Return whether a request under this key was answered before, whatever it asked."""
        return self.key is not None and bool(await self.ledger.events(self._stream(self.key), None, 1))

    async def note(self, asked: Mapping[str, Any], *made: str) -> Sequence[str] | None:
        """Remember what this request made; return what the first one made if another one was faster."""
        if self.key is not None:
            body = {"asked": digest_of(self.key, asked), "made": list(made)}
            draft = self.ledger.draft(
                REQUEST, self._stream(self.key), ANSWERED, body, idempotency_key="answer", actor=self.actor
            )
            try:
                event = await self.ledger.append(draft)
            except IdempotencyConflict:
                return await self.found(asked)
            return made if event.replayed else None
        return None

    def new_id(self, what: str) -> UUID | None:
        """Return the id of what this request makes, the same for the same key; None without a key."""
        stream = self._stream(self.key) if self.key else None
        return stream and self.ledger.derived_id(b"foja/made/v1", what, str(stream))

    def _stream(self, key: str) -> UUID:
        return self.ledger.derived_id(b"foja/request/v1", self.actor, self.address, key)
