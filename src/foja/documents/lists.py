"""Documents as lists show them: many at once, from the tables beside the events."""

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
    """One row of the list of documents."""

    id: UUID
    name: str | None
    state: str
    pipeline: str | None
    lifecycle: str
    witness_hash: str | None
    began_at: datetime
    note: str | None  # a remark that every report must show


class DocumentState(NamedTuple):
    """The state of one document, as lists show it."""

    state: str
    pipeline: str | None
    note: str | None


class DocumentLists:
    """Queries about many documents that read no histories."""

    def __init__(self, ledger: Ledger, note: str | None) -> None:
        """`note` is the remark of this installation, used until there is a stamp."""
        self._ledger, self.note = ledger, note

    async def known(self, documents: Sequence[UUID]) -> Sequence[UUID]:
        """Return those of these documents that exist, in the order given."""
        rows = await self._ledger.ask("documents_known", documents=list(documents))
        return [document for (document,) in rows]

    async def versions(self, sha256: str, names: Sequence[str]) -> Sequence[UUID]:
        """Return the documents with this digest, one of these names and a predecessor, newest first."""
        rows = await self._ledger.ask("document_versions", sha256=sha256, names=list(names))
        return [document for (document,) in rows]

    async def states(self, documents: Sequence[UUID]) -> dict[UUID, DocumentState]:
        """Return the state of each of these documents; one that is not listed yet has no evidence."""
        rows = await self._ledger.ask("document_states", documents=list(documents))
        notes = await self._notes(documents)
        states = {document: (state, pipeline) for document, state, pipeline in rows}
        return {each: DocumentState(*states.get(each, ("none", None)), notes[each]) for each in documents}

    async def at_work(self, documents: Sequence[UUID], *, within: float = 5.0) -> set[UUID]:
        """Return those for which a job runs, or will run within this many seconds."""
        rows = await self._ledger.ask("documents_at_work", documents=list(documents), within=within)
        return {document for (document,) in rows}

    async def failed(
        self, evidence: Iterable[str] = tuple(Evidence), *, after: UUID | None = None, limit: int = 1000
    ) -> Sequence[UUID]:
        """Return documents, by id, with a failed attempt at one of these and none open or confirmed."""
        rows = await self._ledger.ask(
            "documents_failed", evidence=list(evidence), after=after or UUID(int=0), limit=limit
        )
        return [document for (document,) in rows]

    async def list(self, *, before: UUID | None = None, limit: int = 100) -> list[DocumentRow]:
        """Return documents, newest first; `before` is the last one of the previous page."""
        rows = await self._ledger.ask("documents", before=before, limit=limit)
        notes = await self._notes([row[0] for row in rows])
        return [DocumentRow(*(*row, notes[row[0]])) for row in rows]

    async def _notes(self, documents: Sequence[UUID]) -> dict[UUID, str | None]:
        """Return the remark that a report about each of these must show."""
        local = dict(await self._ledger.ask("documents_local", documents=list(documents)))
        return {each: remark(local.get(each), self.note) for each in documents}
