"""Drafts as the database takes them, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from foja.ledger.event import Draft
from foja.sql import wire
from foja.sql.wire import Value

STATEMENTS = ("append", "replay", "append_drafts")
_ELEVEN, _ID = wire.record_head(11), wire.field(wire.UUID_OID, bytes(16))[:-16]
_NO_NUMBER = wire.field(wire.BIGINT_OID, None)


# status, detail, seq, at, body_hash, sealed. A refusal has words in `detail` and no number.
Receipt: TypeAlias = tuple[str, str | None, int | None, datetime | None, bytes | None, bool | None]


def append_values(draft: Draft, tenant: str) -> list[Value]:
    """Return a draft as the values of `append`."""
    return [
        draft.entity_id.bytes,
        wire.name(draft.domain),
        wire.text(tenant),
        wire.name(draft.kind),
        wire.integer(draft.v),
        draft.event_id.bytes,
        wire.text(draft.actor),
        wire.text(draft.source),
        wire.text(draft.payload),
        draft.salt,
        draft.body_hash,
        wire.text(draft.key),
        wire.bigint(draft.expected),
    ]


def lane_values(draft: Draft, tenant: str, seq: int, fence: UUID) -> list[Value]:
    """Return a draft and a number from Redis as the values of `lane_append`."""
    return [*append_values(draft, tenant)[:-1], wire.bigint(seq), fence.bytes]


def replay_values(draft: Draft, tenant: str) -> list[Value]:
    """Return a draft as the values of `replay`."""
    return [
        draft.entity_id.bytes,
        wire.text(tenant),
        wire.text(draft.kind),
        wire.integer(draft.v),
        draft.event_id.bytes,
        wire.text(draft.actor),
        wire.text(draft.source),
        wire.text(draft.payload),
    ]


def batch_values(
    drafts: Sequence[Draft], type_: int, *, source: str, tenant: str, atomic: bool, careful: bool
) -> list[Value]:
    """Return drafts as the values of `append_drafts`; `type_` is what the database calls a draft."""
    return [
        wire.array(type_, [_record(draft) for draft in drafts]),
        wire.text(source),
        wire.text(tenant),
        wire.boolean(atomic),
        wire.boolean(careful),
    ]


def _record(draft: Draft) -> bytes:
    return b"".join(
        (
            _ELEVEN,
            _ID,
            draft.entity_id.bytes,
            wire.named(draft.domain),
            wire.named(draft.kind),
            wire.numbered(draft.v),
            _ID,
            draft.event_id.bytes,
            wire.named(draft.actor),
            wire.field(wire.TEXT_OID, wire.text(draft.payload)),
            wire.field(wire.BYTEA_OID, draft.salt),
            wire.field(wire.BYTEA_OID, draft.body_hash),
            wire.field(wire.TEXT_OID, wire.text(draft.key)),
            _NO_NUMBER
            if draft.expected is None
            else wire.field(wire.BIGINT_OID, wire.bigint(draft.expected)),
        )
    )


@dataclass(frozen=True, slots=True)
class Wish:
    """Numbers that somebody wants to keep for later."""

    entity_id: UUID
    domain: str
    count: int
    ttl: float
    intents: Sequence[str] | None

    def values(self, tenant: str, source: str) -> list[Value]:
        """Return this as the values of `reserve`."""
        intents = [wire.text(intent) for intent in self.intents or ()]
        return [
            self.entity_id.bytes,
            wire.text(self.domain),
            wire.text(tenant),
            wire.text(source),
            wire.integer(self.count),
            wire.double(self.ttl),
            wire.array(wire.TEXT_OID, intents),
        ]


# status, first number, token, deadline
Kept: TypeAlias = tuple[str, int, UUID, datetime | None]


def read_kept(answer: bytes) -> Kept:
    """Return what became of a wish for numbers."""
    status, first, token, deadline = wire.fields(answer)
    assert status
    assert first
    assert token
    due = wire.moment(wire.number(deadline)) if deadline else None
    return status.decode(), wire.number(first), UUID(bytes=token), due


def read_receipt(answer: bytes) -> Receipt:
    """Return the receipt of one event."""
    status, detail, seq, _, at, body_hash, sealed = wire.fields(answer)
    return _receipt(status, detail, seq, at, body_hash, sealed)


def read_receipts(answer: bytes, drafts: Sequence[Draft]) -> list[Receipt]:
    """Return a receipt for each draft of a batch."""
    seqs, ats, sealeds, *verdicts = wire.fields(answer)
    if not any(verdicts):
        moments = map(wire.moment, wire.bigints(ats))
        return [
            ("appended", None, seq, at, draft.body_hash, sealed)
            for seq, at, draft, sealed in zip(
                wire.bigints(seqs), moments, drafts, wire.booleans(sealeds), strict=True
            )
        ]
    columns = [wire.items(column, len(drafts)) for column in (*verdicts, seqs, ats, sealeds)]
    return [
        _receipt(status, detail, seq, at, body_hash, sealed)
        for status, detail, body_hash, seq, at, sealed in zip(*columns, strict=True)
    ]


def _receipt(status: Value, detail: Value, seq: Value, at: Value, body_hash: Value, sealed: Value) -> Receipt:
    return (
        (status or b"").decode(),
        detail.decode() if detail else None,
        wire.number(seq) if seq else None,
        wire.moment(wire.number(at)) if at else None,
        body_hash,
        sealed == b"\x01",
    )
