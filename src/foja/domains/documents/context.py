"""What the documents of a tenant share: ledger, store, bundles, and what this installation can produce."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from foja.domains.documents.bundles import Bundles
from foja.engine.blobs.objects import Objects
from foja.engine.jobs.announcement import LIVING_SECONDS
from foja.engine.ledger.event import Event, EventRow
from foja.engine.ledger.ledger import Ledger
from foja.errors import BadPayload, CannotProduce, UnknownEntity
from foja.pure.core.fields import many
from foja.pure.models.documents.events import DOCUMENT, REQUIRABLE, Evidence
from foja.pure.models.documents.rules import Policy
from foja.pure.models.documents.view import Obstacles


@dataclass(slots=True)
class DocumentContext:
    """Reads and writes the events of any document of a tenant."""

    ledger: Ledger
    objects: Objects
    bundles: Bundles
    policy: Policy
    notify: Callable[[], None]
    note: str | None  # the remark of this installation, used until there is a stamp
    abilities: frozenset[str]  # what this installation can produce, as it was read last

    async def append(
        self, document: UUID, kind: str, payload: Mapping[str, Any], actor: str | None, key: str | None
    ) -> Event:
        """Append an event of the newest version of its kind, and tell the workers."""
        v = DOCUMENT.newest(kind)
        draft = self.ledger.draft(DOCUMENT, document, kind, payload, actor=actor, idempotency_key=key, v=v)
        event = await self.ledger.append(draft)
        self.notify()
        return event

    async def history(self, document: UUID) -> tuple[Sequence[Event], datetime]:
        """Return the events of a document and the time now, or raise `UnknownEntity`."""
        rows = await self.ledger.ask("document_history", EventRow, document=document)
        if not rows:
            raise _unknown(document)
        return [row.event(document) for row in rows], rows[0].now.astimezone(UTC)

    async def check_known(self, document: UUID) -> None:
        """Raise `UnknownEntity` unless this tenant has the document."""
        if not await self.ids("documents_known", documents=[document]):
            raise _unknown(document)

    async def ids(self, query: str, **values: object) -> Sequence[UUID]:
        """Return the ids that a query finds."""
        return [document for (document,) in await self.ledger.ask(query, **values)]

    async def obstacles(self, document: UUID) -> Obstacles:
        """Return what keeps a document waiting; read the abilities of the installation on the way."""
        await self.ledger.ask("queue_woken")
        values = {"document": document, "living": LIVING_SECONDS}
        [row] = await self.ledger.ask("document_obstacles", Obstacles, **values)
        self.abilities = frozenset(row.abilities)
        return row

    async def check_evidence(self, evidence: str | Iterable[str]) -> Sequence[str]:
        """Return the required evidence in order; raise if it is unknown or cannot be produced here."""
        required = set(many(evidence))
        if not self.abilities.issuperset(required):  # perhaps it can by now
            self.abilities = frozenset(name for (name,) in await self.ledger.ask("abilities"))
        if unknown := sorted(required - set(REQUIRABLE)):
            raise BadPayload(f"unknown evidence {unknown[0]!r}: expected one of {', '.join(REQUIRABLE)}")
        if Evidence.TSA not in required:
            raise BadPayload("a timestamp is always required: add `tsa` to the evidence")
        if missing := sorted(required - self.abilities):
            raise CannotProduce(
                f"this installation cannot produce {', '.join(missing)}; leave it out; "
                "`foja anchors enable NETWORK` enables one"
            )
        return [each.value for each in REQUIRABLE if each in required]


def _unknown(document: UUID) -> UnknownEntity:
    return UnknownEntity(
        f"there is no document {document}; check the id, which may be that of another stream, and FOJA_TENANT"
    )
