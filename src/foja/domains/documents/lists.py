"""Documents as lists show them: many at once, from the tables beside the events.

This module imports little, so that `foja status` starts fast; `service` reads the events.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from foja.engine.driver.tenant_statement import UNNAMED, Row
from foja.errors import BadPayload
from foja.pure.models.documents.states import State
from foja.pure.models.documents.view import DocumentRow
from foja.pure.proofs.notices import remark

_DIGITS = re.compile("[0-9a-f]{8,64}")
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
GIVEN_UP = "given_up"
STATES = (*State, GIVEN_UP)


class DocumentState(NamedTuple):
    """The state of one document, as lists show it."""

    state: str
    pipeline: str | None
    note: str | None


class Queries(Protocol):
    """Runs named queries for one tenant: the ledger, or only a connection."""

    async def ask(self, question: str, of: type[Row] = UNNAMED, /, **values: object) -> list[Row]: ...


class DocumentLists:
    """The list of documents, found by state or words, with the remark that each must show."""

    def __init__(self, ledger: Queries, note: str | None) -> None:
        """`note` is the remark of this installation, used until there is a stamp."""
        self._ledger, self._note = ledger, note

    async def states(self, documents: Sequence[UUID]) -> dict[UUID, DocumentState]:
        """Return the state of each of these documents; one that is not listed yet has no evidence."""
        rows = await self._ledger.ask("document_states", documents=list(documents))
        notes = await self._notes(documents)
        states = {document: (state, pipeline) for document, state, pipeline in rows}
        return {each: DocumentState(*states.get(each, ("none", None)), notes[each]) for each in documents}

    async def list(
        self, *, before: UUID | None = None, limit: int = 100, state: str | None = None
    ) -> list[DocumentRow]:
        """Return documents, newest first; `before` is the last one of the previous page.

        `state` limits it to documents in that state, or to those of which evidence was `given_up`.
        """
        if state is not None and state not in STATES:
            raise BadPayload(f"unknown state {state!r}: expected one of {', '.join(STATES)}")
        await self._ledger.ask("queue_woken")
        page = {**await self._place(before), "limit": limit}
        if state is None:
            return await self._listed(await self._ids("documents", **page))
        if state == GIVEN_UP:
            return await self._listed(await self._ids("documents_given_up", **page))
        return await self._listed(await self._ids("documents_in_state", state=state, **page))

    async def _place(self, before: UUID | None) -> dict[str, object]:
        """Return where a page begins: before a document, or at the newest. An unknown one has none."""
        if before is None:
            return {"before": UUID(int=2**128 - 1), "before_at": LAST}
        rows = await self._ledger.ask("document_began", document=before)
        return {"before": before, "before_at": rows[0][0] if rows else FIRST}

    async def search(self, text: str, *, limit: int = 100) -> Sequence[DocumentRow]:
        """Return documents, newest first, whose names have words that begin like those of a text.

        Eight or more hexadecimal digits also find digests and ids that begin with them.
        A name that was erased is not found.
        """
        digits = text.strip().lower().removeprefix("sha256:").replace("-", "")
        words = sorted((word for (word,) in await self._ledger.ask("search_words", text=text)), key=len)
        queries: Sequence[tuple[str, dict[str, Any]]] = (
            [("documents_found", {"first": words[-1], "others": words[:-1]})] if words else []
        )
        if _DIGITS.fullmatch(digits):
            low, high = (UUID(hex=digits[:32].ljust(32, end)) for end in "0f")
            between = ("documents_between", {"low": low, "high": high})
            queries = [between, ("documents_found", {"first": f"#{digits}", "others": []}), *queries]
        found = [each for name, values in queries for each in await self._ids(name, **values, limit=limit)]
        return await self._listed([*dict.fromkeys(found)][:limit])

    async def _listed(self, documents: Sequence[UUID]) -> builtins.list[DocumentRow]:
        rows = await self._ledger.ask("documents_listed", DocumentRow, documents=list(documents))
        notes = await self._notes(documents)
        return [replace(row, note=notes[row.id]) for row in rows]

    async def _ids(self, query: str, **values: object) -> Sequence[UUID]:
        return [document for (document,) in await self._ledger.ask(query, **values)]

    async def _notes(self, documents: Sequence[UUID]) -> dict[UUID, str | None]:
        """Return the remark that a report about each of these must show."""
        rows = await self._ledger.ask("documents_marked", documents=list(documents))
        marks = {document: (local, test_network) for document, local, test_network in rows}
        found = {each: marks.get(each, (None, None)) for each in documents}
        return {each: remark(local, self._note, network) for each, (local, network) in found.items()}
