"""What a webhook is sent: an event as JSON, with its tenant; its payload only if the webhook asks for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one webhook, as the worker gets it."""

    batch: UUID
    id: int
    webhook_id: UUID
    url: str
    secrets: Sequence[bytes]
    attempts: int  # that were made before
    tenant: str
    entity_id: UUID
    seq: int
    event_id: UUID
    kind: str
    v: int
    at: datetime
    actor: str | None
    source: str
    include_payload: bool
    payload: Any

    @property
    def message_id(self) -> str:
        """The same for every attempt and every replay: receivers recognise what they have."""
        return str(self.event_id)

    def body(self) -> bytes:
        """Return the message. With the payload come the actor and the source, as in an envelope."""
        fields: dict[str, Any] = {
            "id": self.message_id,
            "kind": self.kind,
            "v": self.v,
            "tenant": self.tenant,
            "entity_id": str(self.entity_id),
            "seq": self.seq,
            "at": self.at.isoformat(),
        }
        if self.include_payload:
            fields |= {"actor": self.actor, "_source": self.source, "payload": self.payload}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
