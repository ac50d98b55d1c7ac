"""Attempts end at their deadline."""

from __future__ import annotations

from foja import sql
from foja.driver.database import Database
from foja.ledger.live.notifier import Notifier

EXPIRY_LIMIT = 100


async def expire_attempts(database: Database, notifier: Notifier) -> int:
    """Close attempts past their deadline, and cancel their jobs; return how many."""
    closed = await database.rows(sql.query("expire_attempts"), most=EXPIRY_LIMIT)
    for (document,) in closed:
        notifier.touch(document)
    return len(closed)
