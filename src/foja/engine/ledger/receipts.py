"""Drafts and reservations as the database takes them, and the receipts it returns."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat
from typing import TypeAlias
from uuid import UUID

from foja.engine.driver import encoding
from foja.engine.driver.encoding import Value
from foja.engine.ledger.event import Draft

STATEMENTS = ("append", "replay", "append_drafts")
_FIELDS, _ID = encoding.record_head(13), encoding.field(encoding.UUID_OID, bytes(16))[:-16]
_NO_NUMBER = encoding.field(encoding.BIGINT_OID, None)
# A `foja.receipt` of an event that was appended now, whose guard returned nothing: status, seq, at,
# body_hash, sealed.
_APPENDED = struct.Struct("!12x8s16xq32xq8x32s8x?8x")


# status, detail, seq, at, body_hash, sealed, result. A refusal has words in `detail` and no number.
Receipt: TypeAlias = tuple[
    str, str | None, int | None, datetime | None, bytes | None, bool | None, int | None
]


def draft_array(drafts: Sequence[Draft], draft_type: int) -> Value:
    """Return drafts as an array of `foja.draft`; `draft_type` is the type's number in this database."""
    return encoding.array(draft_type, [draft_record(draft) for draft in drafts])


def draft_record(draft: Draft) -> bytes:
    """Return a draft as a `foja.draft`."""
    return b"".join(
        (
            _FIELDS,
            _ID,
            draft.entity_id.bytes,
            encoding.named(draft.domain),
            encoding.named(draft.tenant),
            encoding.named(draft.kind),
            encoding.numbered(draft.v),
            _ID,
            draft.event_id.bytes,
            encoding.named(draft.actor),
            encoding.named(draft.source),
            encoding.field(encoding.TEXT_OID, encoding.text(draft.payload)),
            encoding.field(encoding.BYTEA_OID, draft.salt),
            encoding.field(encoding.BYTEA_OID, draft.body_hash),
            encoding.field(encoding.TEXT_OID, encoding.text(draft.key)),
            _NO_NUMBER
            if draft.expected is None
            else encoding.field(encoding.BIGINT_OID, encoding.bigint(draft.expected)),
        )
    )


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """A request to reserve numbers."""

    entity_id: UUID
    domain: str
    tenant: str
    count: int
    ttl: float
    intents: Sequence[str] | None

    def values(self, source: str) -> list[Value]:
        """Return this as the values of `reserve`, without the tenant."""
        intents = [encoding.text(intent) for intent in self.intents or ()]
        return [
            self.entity_id.bytes,
            encoding.text(self.domain),
            encoding.text(source),
            encoding.integer(self.count),
            encoding.double(self.ttl),
            encoding.array(encoding.TEXT_OID, intents),
        ]


# status, first number, token, deadline
Reservation: TypeAlias = tuple[str, int, UUID, datetime | None]


def read_reservation(answer: bytes) -> Reservation:
    """Return the answer to a request for numbers."""
    status, first, token, deadline = encoding.fields(answer)
    assert status
    assert first
    assert token
    due = encoding.moment(encoding.number(deadline)) if deadline else None
    return status.decode(), encoding.number(first), UUID(bytes=token), due


def read_receipt(answer: bytes) -> Receipt:
    """Return the receipt of one event."""
    if len(answer) == _APPENDED.size:
        status, seq, at, body_hash, sealed = _APPENDED.unpack(answer)
        if status == b"appended":
            return "appended", None, seq, encoding.moment(at), body_hash, sealed, None
    return _read_other_receipt(answer)


def _read_other_receipt(answer: bytes) -> Receipt:
    status, detail, seq, _, at, body_hash, sealed, result = encoding.fields(answer)
    return _receipt(status, detail, seq, at, body_hash, sealed, result)


def read_receipts(answer: bytes, drafts: Sequence[Draft]) -> list[Receipt]:
    """Return a receipt for each draft of a batch."""
    seqs, ats, sealeds, *verdicts, results = encoding.fields(answer)
    if not any(verdicts):
        moments = map(encoding.moment, encoding.bigints(ats))
        return [
            ("appended", None, seq, at, draft.body_hash, sealed, result)
            for seq, at, draft, sealed, result in zip(
                encoding.bigints(seqs),
                moments,
                drafts,
                encoding.booleans(sealeds),
                encoding.integers(results) if results else repeat(None, len(drafts)),
                strict=True,
            )
        ]
    columns = [encoding.items(column, len(drafts)) for column in (*verdicts, seqs, ats, sealeds, results)]
    return [
        _receipt(status, detail, seq, at, body_hash, sealed, result)
        for status, detail, body_hash, seq, at, sealed, result in zip(*columns, strict=True)
    ]


def _receipt(
    status: Value, detail: Value, seq: Value, at: Value, body_hash: Value, sealed: Value, result: Value
) -> Receipt:
    return (
        (status or b"").decode(),
        detail.decode() if detail else None,
        encoding.number(seq) if seq else None,
        encoding.moment(encoding.number(at)) if at else None,
        body_hash,
        sealed == b"\x01",
        int.from_bytes(result) if result else None,
    )
