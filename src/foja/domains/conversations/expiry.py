"""Record that undecided approvals have expired."""

from __future__ import annotations

import contextlib
from uuid import UUID

from foja.engine import sql
from foja.engine.driver.database import Database, Locked
from foja.engine.ledger.live.notifier import Notifier
from foja.errors import IdempotencyConflict

BATCH = 100


async def expire_approvals(database: Database, notifier: Notifier) -> int:
    """Record the expiry of undecided approvals; return how many. Held streams are left for later."""
    held: set[UUID] = set()
    done = 0
    while True:
        known = len(held)
        due = await database.rows(sql.query("due_approvals"), most=BATCH, held=list(held))
        for tenant, entity, decision in due:
            if entity not in held and await _expire(database, entity, decision, held):
                notifier.touch((tenant, entity))
                done += 1
        if len(held) == known:
            return done


async def _expire(database: Database, entity: UUID, decision: UUID, held: set[UUID]) -> bool:
    """Record the expiry of one approval; return False if another session holds its stream."""
    try:
        with contextlib.suppress(IdempotencyConflict):  # decided at the last moment
            await database.row(sql.query("expire_approval"), entity=entity, event=decision)
    except Locked:
        held.add(entity)
        return False
    return True
