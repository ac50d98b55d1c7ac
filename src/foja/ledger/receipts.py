"""Drafts as the database takes them, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from psycopg.pq.abc import PGresult

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
        line.text(draft.domain),
        line.text(tenant),
        line.text(draft.kind),
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


def batch_values(drafts: Sequence[Draft], *, source: str, tenant: str, atomic: bool) -> list[Value]:
    """Return drafts as the values of `append_batch`, a column each."""
    return [
        line.uuids([each.entity_id for each in drafts]),
        line.array(line.TEXT_OID, [line.text(each.domain) for each in drafts]),
        line.array(line.TEXT_OID, [line.text(each.kind) for each in drafts]),
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
        b"\x01" if atomic else b"\x00",
    ]


def read_receipts(result: PGresult) -> list[Receipt]:
    """Return a receipt for each row."""
    return [_read(result.get_value, row) for row in range(result.ntuples)]


def _read(value: Callable[[int, int], bytes | None], row: int) -> Receipt:
    status, detail, seq, at = value(row, 0), value(row, 1), value(row, 2), value(row, 3)
    return (
        (status or b"").decode(),
        detail.decode() if detail else None,
        line.number(seq) if seq else None,
        line.moment(at) if at else None,
        value(row, 4),
        value(row, 5) == b"\x01",
    )
