"""What the service of documents reads about one document: its events and what stands in its way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from uuid import UUID

from foja.domains.documents.bundles import Bundles
from foja.domains.documents.document import check_evidence
from foja.domains.documents.lists import DocumentLists
from foja.engine.jobs.announcement import LIVING_SECONDS
from foja.engine.ledger.event import Event, EventRow, parse_id
from foja.errors import UnknownEntity
from foja.pure.core.fields import many
from foja.pure.models.documents.history import read
from foja.pure.models.documents.view import Obstacles


class DocumentHistories(DocumentLists):
    """Queries about one document, beside those about many."""

    _bundles: Bundles
    abilities: frozenset[str] = frozenset()  # what this installation can produce, as it was read last

    async def check_evidence(self, evidence: str | Iterable[str]) -> Sequence[str]:
        """Return the required evidence in order; raise if it is unknown or cannot be produced here."""
        required = many(evidence)
        if not self.abilities.issuperset(required):  # perhaps it can by now
            self.abilities = frozenset(name for (name,) in await self._ledger.ask("abilities"))
        return check_evidence(required, self.abilities)

    async def events(self, document_id: UUID | str) -> Sequence[Event]:
        """Return all events of the document, in order."""
        return (await self._history(parse_id(document_id, "document")))[0]

    async def trust(self, document_id: UUID | str) -> list[str]:
        """Return the roots of this installation, and the blocks and keys that its nodes confirmed for it."""
        return await self._bundles.trust(await self._known(document_id))

    async def artifact(self, document_id: UUID | str) -> str | None:
        """Return the digest of the final bundle, or None if there is none, or a newer one has to be built."""
        rows = await self._ledger.ask("document_artifact", document=await self._known(document_id))
        return str(rows[0][0]) if rows else None

    async def proofs(self, document_id: UUID | str) -> dict[str, bytes]:
        """Return each proof of the document by the name of a file in its tool's own format."""
        return await self._bundles.proofs(await self._known(document_id))

    async def _known(self, document_id: UUID | str) -> UUID:
        """Return the id of a document, or raise `UnknownEntity`."""
        document = parse_id(document_id, "document")
        if not await self.known([document]):
            raise unknown(document)
        return document

    async def _obstacles(self, document: UUID) -> Obstacles:
        """Return what keeps a document waiting; read the abilities of the installation on the way."""
        await self._ledger.ask("queue_woken")
        values = {"document": document, "living": LIVING_SECONDS}
        [row] = await self._ledger.ask("document_obstacles", Obstacles, **values)
        self.abilities = frozenset(row.abilities)
        return row

    async def _rendition(self, document: UUID) -> str:
        events, _ = await self._history(document)
        if digest := read(events).rendition:
            return digest
        raise UnknownEntity(f"document {document} has no digest, it was erased; give witness_hash")

    async def _history(self, document: UUID) -> tuple[Sequence[Event], datetime]:
        rows = await self._ledger.ask("document_history", EventRow, document=document)
        if not rows:
            raise unknown(document)
        return [row.event(document) for row in rows], rows[0].now.astimezone(UTC)


def unknown(document: UUID) -> UnknownEntity:
    """Return the error about an id that names no document of this tenant."""
    return UnknownEntity(
        f"there is no document {document}; check the id, which may be that of another stream, and FOJA_TENANT"
    )
