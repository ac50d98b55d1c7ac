"""Drafts as the database takes them, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from foja.ledger.event import Draft
from foja.sql import line
from foja.sql.line import Value

STATEMENTS = ("append", "replay", "append_batch")


# status, detail, seq, at, body_hash, sealed. A refusal has words in `detail` and no number.
Receipt: TypeAlias = tuple[str, str | None, int | None, datetime | None, bytes | None, bool | None]


def append_values(draft: Draft, tenant: str) -> list[Value]:
    """Return a draft as the values of `append`."""
    return [
        draft.entity_id.bytes,
        line.name(draft.domain),
        line.text(tenant),
        line.name(draft.kind),
        line.integer(draft.v),
        draft.event_id.bytes,
        line.text(draft.actor),
        line.text(draft.source),
        line.text(draft.payload),
        draft.salt,
        draft.body_hash,
        line.text(draft.key),
        line.bigint(draft.expected),
    ]


def lane_values(draft: Draft, tenant: str, seq: int, fence: UUID) -> list[Value]:
    """Return a draft and a number from Redis as the values of `lane_append`."""
    return [*append_values(draft, tenant)[:-1], line.bigint(seq), fence.bytes]


def replay_values(draft: Draft, tenant: str) -> list[Value]:
    """Return a draft as the values of `replay`."""
    return [
        draft.entity_id.bytes,
        line.text(tenant),
        line.text(draft.kind),
        line.integer(draft.v),
        draft.event_id.bytes,
        line.text(draft.actor),
        line.text(draft.source),
        line.text(draft.payload),
    ]


def batch_values(
    drafts: Sequence[Draft], *, source: str, tenant: str, atomic: bool, careful: bool
) -> list[Value]:
    """Return drafts as the values of `append_batch`, a column each."""
    return [
        line.uuids([each.entity_id for each in drafts]),
        line.array(line.TEXT_OID, [line.name(each.domain) for each in drafts]),
        line.array(line.TEXT_OID, [line.name(each.kind) for each in drafts]),
        line.array(line.INTEGER_OID, [line.integer(each.v) for each in drafts]),
        line.uuids([each.event_id for each in drafts]),
        line.array(line.TEXT_OID, [line.text(each.actor) for each in drafts]),
        line.array(line.TEXT_OID, [line.text(each.payload) for each in drafts]),
        line.array(line.BYTEA_OID, [each.salt for each in drafts]),
        line.array(line.BYTEA_OID, [each.body_hash for each in drafts]),
        line.array(line.TEXT_OID, [line.text(each.key) for each in drafts]),
        line.array(line.BIGINT_OID, [line.bigint(each.expected) for each in drafts]),
        line.text(source),
        line.text(tenant),
        line.boolean(atomic),
        line.boolean(careful),
    ]


def read_receipt(answer: bytes) -> Receipt:
    """Return the receipt of one event."""
    status, detail, seq, _, at, body_hash, sealed = line.fields(answer)
    return _receipt(status, detail, seq, at, body_hash, sealed)


def read_receipts(answer: bytes, drafts: Sequence[Draft]) -> list[Receipt]:
    """Return a receipt for each draft of a batch."""
    seqs, ats, sealeds, *verdicts = line.fields(answer)
    if not any(verdicts):
        moments = map(line.moment, line.bigints(ats))
        return [
            ("appended", None, seq, at, draft.body_hash, sealed)
            for seq, at, draft, sealed in zip(
                line.bigints(seqs), moments, drafts, line.booleans(sealeds), strict=True
            )
        ]
    columns = [line.items(column, len(drafts)) for column in (*verdicts, seqs, ats, sealeds)]
    return [
        _receipt(status, detail, seq, at, body_hash, sealed)
        for status, detail, body_hash, seq, at, sealed in zip(*columns, strict=True)
    ]


def _receipt(status: Value, detail: Value, seq: Value, at: Value, body_hash: Value, sealed: Value) -> Receipt:
    return (
        (status or b"").decode(),
        detail.decode() if detail else None,
        line.number(seq) if seq else None,
        line.moment(line.number(at)) if at else None,
        body_hash,
        sealed == b"\x01",
    )
