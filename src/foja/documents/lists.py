"""Documents as lists show them: many at once, from what stands beside the events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from foja.documents.model.events import Evidence
from foja.documents.model.view import remark
from foja.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One line of the list of documents."""

    id: UUID
    name: str | None
    state: str
    pipeline: str | None
    lifecycle: str
    witness_hash: str | None
    began_at: datetime
    note: str | None  # what a report must add


class DocumentState(NamedTuple):
    """Where one document stands, as lists show it."""

    state: str
    pipeline: str | None
    note: str | None


class DocumentLists:
    """What can be asked about many documents without reading their histories."""

    def __init__(self, ledger: Ledger, note: str | None) -> None:
        """`note` is what reports add as long as no stamp tells what it is worth."""
        self._ledger, self.note = ledger, note

    async def known(self, documents: Sequence[UUID]) -> Sequence[UUID]:
        """Return those of these documents that exist, in the order given."""
        rows = await self._ledger.ask("documents_known", documents=list(documents))
        return [document for (document,) in rows]

    async def versions(self, sha256: str, names: Sequence[str]) -> Sequence[UUID]:
        """Return the documents of these bytes that follow another, under one of these names, newest first."""
        rows = await self._ledger.ask("document_versions", sha256=sha256, names=list(names))
        return [document for (document,) in rows]

    async def states(self, documents: Sequence[UUID]) -> dict[UUID, DocumentState]:
        """Return where each of these documents stands; one that is not listed yet has no evidence."""
        rows = await self._ledger.ask("document_states", documents=list(documents))
        notes = await self._notes(documents)
        states = {document: (state, pipeline) for document, state, pipeline in rows}
        return {each: DocumentState(*states.get(each, ("none", None)), notes[each]) for each in documents}

    async def at_work(self, documents: Sequence[UUID], *, within: float = 5.0) -> set[UUID]:
        """Return those about which something is being done, or will be within so many seconds."""
        rows = await self._ledger.ask("documents_at_work", documents=list(documents), within=within)
        return {document for (document,) in rows}

    async def failed(
        self, evidence: Iterable[str] = tuple(Evidence), *, after: UUID | None = None, limit: int = 1000
    ) -> Sequence[UUID]:
        """Return documents, by id, of which one of these failed and is not tried any more, or not yet."""
        rows = await self._ledger.ask(
            "documents_failed", evidence=list(evidence), after=after or UUID(int=0), limit=limit
        )
        return [document for (document,) in rows]

    async def list(self, *, before: UUID | None = None, limit: int = 100) -> list[DocumentRow]:
        """Return documents, newest first, from below one of them."""
        rows = await self._ledger.ask("documents", before=before, limit=limit)
        notes = await self._notes([row[0] for row in rows])
        return [DocumentRow(*(*row, notes[row[0]])) for row in rows]

    async def _notes(self, documents: Sequence[UUID]) -> dict[UUID, str | None]:
        """Return what a report about each of these must add."""
        local = dict(await self._ledger.ask("documents_local", documents=list(documents)))
        return {each: remark(local.get(each), self.note) for each in documents}
