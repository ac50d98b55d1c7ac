"""Drafts as psycopg sends them, for tests that call the functions of the schema themselves."""

from __future__ import annotations

from typing import Any, LiteralString

from foja.engine.ledger.event import Draft

# The fields of `foja.draft` in order; a `Draft` without its last field fills it.
DRAFT: LiteralString = (
    "row(%s::uuid, %s::text, %s::text, %s::text, %s::integer, %s::uuid, %s::text, %s::text, %s::text, "
    "%s::bytea, %s::bytea, %s::text, %s::bigint)::foja.draft"
)
NAMED: LiteralString = """row(%(entity_id)s::uuid, %(domain)s::text, %(tenant)s::text, %(kind)s::text,
    %(v)s::integer, %(event_id)s::uuid, %(actor)s::text, %(source)s::text, %(payload)s::text, %(salt)s::bytea,
    %(body_hash)s::bytea, %(key)s::text, %(expected)s::bigint)::foja.draft"""
BATCH: LiteralString = """array(select row(u.*)::foja.draft from unnest(%(entity_id)s::uuid[],
    %(domain)s::text[], %(tenant)s::text[], %(kind)s::text[], %(v)s::integer[], %(event_id)s::uuid[],
    %(actor)s::text[], %(source)s::text[], %(payload)s::text[], %(salt)s::bytea[], %(body_hash)s::bytea[],
    %(key)s::text[], %(expected)s::bigint[]) u)"""


def fields(draft: Draft) -> tuple[Any, ...]:
    """Return the values of `DRAFT`."""
    return tuple(draft[:-1])


def named(draft: Draft) -> dict[str, Any]:
    """Return the values of `NAMED`."""
    return dict(zip(Draft._fields[:-1], draft[:-1], strict=True))


def columns(drafts: list[Draft]) -> dict[str, list[Any]]:
    """Return the values of `BATCH`."""
    rows = [named(draft) for draft in drafts]
    return {name: [row[name] for row in rows] for name in rows[0]}
