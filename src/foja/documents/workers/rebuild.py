"""Rebuild by replay what is stored beside the events of documents: lists, guards, deadlines."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from foja import sql
from foja.documents.workers.executor import Executor
from foja.driver.database import Database
from foja.ledger.ledger import Ledger

PAGE_DOCUMENTS, LOCKED_AT_ONCE = 500, 20


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How many documents there are, in how many the list was wrong, and in how many the guards were."""

    documents: int
    mended: int
    guards: int = 0


async def rebuild(ledger: Ledger, executor: Executor, database: Database) -> Rebuilt:
    """Rebuild everything; others may write meanwhile. `database` acts as the executor's role."""
    documents, mended, guards, after = 0, 0, 0, None
    while page := [row[0] for row in await ledger.ask("document_ids", after=after, limit=PAGE_DOCUMENTS)]:
        documents, after = documents + len(page), page[-1]
        guards += await _rebuild_guards(database, page)
        mended += await executor.rebuild(page)
    return Rebuilt(documents, mended, guards)


async def _rebuild_guards(database: Database, documents: list[UUID]) -> int:
    """Rebuild what guards and deadlines are decided from; a few documents are locked at a time."""
    found = 0
    for start in range(0, len(documents), LOCKED_AT_ONCE):
        locked = documents[start : start + LOCKED_AT_ONCE]
        found += len(await database.rows(sql.query("rebuild_documents"), entities=locked))
    return found
