"""The end of attempts that nobody ended."""

from __future__ import annotations

from foja import sql
from foja.driver.database import Database
from foja.ledger.live.notifier import Notifier

MOST = 100


async def expire_attempts(database: Database, hints: Notifier) -> int:
    """Close attempts past their deadline, and cancel their jobs; return how many."""
    closed = await database.rows(sql.query("expire_attempts"), most=MOST)
    for (document,) in closed:
        hints.touch(document)
    return len(closed)
