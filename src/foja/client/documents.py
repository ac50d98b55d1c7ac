"""Documents over HTTP: add, protect, view, bundle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

from foja.client.acts import DocumentActs, DocumentsActs
from foja.client.encoding import decode
from foja.client.streams import History
from foja.client.transport import Content, Request, Transport
from foja.engine.ledger.event import Event, parse_id
from foja.interfaces.answers.documents import AddedDocument
from foja.pure.core.fields import many

CHUNK_BYTES = 1 << 20
BYTES = "application/octet-stream"
Data: TypeAlias = bytes | PathLike[str]


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document as it stands; `raw` is the whole answer."""

    id: UUID
    name: str | None
    state: str  # none, protected, reinforced, final
    pipeline: str | None  # what it waits for
    witness_hash: str | None
    required_evidence: Sequence[str]
    evidence: Sequence[Mapping[str, Any]]
    explain: str
    note: str | None
    raw: Mapping[str, Any]


class Document(History, DocumentActs):
    """A document of the server."""

    def __init__(self, transport: Transport, document_id: UUID, added: AddedDocument | None = None) -> None:
        History.__init__(self, transport, document_id, f"/v1/documents/{document_id}")
        DocumentActs.__init__(self, transport, {"document_id": document_id})
        given = added or AddedDocument(document_id, None, None, None, None, new=False)
        self.new, self.sha256, self.name = given.new, given.sha256, given.name
        self.size, self.custody = given.size, given.custody

    async def protect(
        self,
        required_evidence: str | Iterable[str] = ("tsa",),
        *,
        stage: str | None = None,
        witness_hash: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Request evidence of the document as it is now. An equal request returns the first one."""
        more = {"stage": stage, "witness_hash": witness_hash, "idempotency_key": idempotency_key}
        return await super().protect(many(required_evidence), **more)

    async def view(self) -> DocumentView:  # type: ignore[override]
        """Return the document as it stands."""
        found = await self._transport.ask("GET", self._path)
        names = [name for name in DocumentView.__slots__ if name not in ("id", "raw")]
        return DocumentView(id=UUID(found["id"]), raw=found, **{name: found[name] for name in names})

    async def explain(self) -> str:
        """Return what it waits for and what happens next."""
        return (await self.view()).explain

    async def bundle(self, *, with_document: bool = True) -> bytes:
        """Return the evidence there is now as one file, for `foja.verify`."""
        params = {"with_document": str(with_document).lower()}
        return (await self._transport.send(Request("GET", f"{self._path}/bundle", params=params))).content

    async def trust(self) -> list[str]:  # type: ignore[override]
        """Return what the server trusts about it. Give it to readers by another way than the bundle."""
        return list(await super().trust())


class Documents(DocumentsActs):
    """Every document of the tenant."""

    async def add(
        self,
        data: Data,
        *,
        name: str | None = None,
        media_type: str | None = None,
        predecessor: UUID | None = None,
    ) -> Document:
        """Add bytes, or the file at a path, sent as it is read. The same again is the same document."""
        named = name or (None if isinstance(data, bytes) else Path(data).name)
        params = {"name": named, "predecessor": None if predecessor is None else str(predecessor)}
        headers = {"Content-Type": media_type or BYTES}
        request = Request("POST", "/v1/documents", params=params, content=content_of(data), headers=headers)
        return self.added((await self._transport.send(request)).json())

    async def add_digest(
        self, sha256: str, *, name: str | None = None, size: int | None = None, media_type: str | None = None
    ) -> Document:
        """Add a document by its SHA-256 digest; its bytes stay with you."""
        body = {"sha256": sha256, "name": name, "size": size, "media_type": media_type}
        return self.added(await self._transport.ask("POST", "/v1/documents", json=body))

    async def open(self, document_id: UUID | str) -> Document:
        """Return the document with this id. Nothing is sent before it is used."""
        return Document(self._transport, parse_id(document_id, "document"))

    async def protect(
        self, document_id: UUID | str, required_evidence: str | Iterable[str] = ("tsa",)
    ) -> Event:
        """Request evidence of a document."""
        return await (await self.open(document_id)).protect(required_evidence)

    async def record(
        self, document_id: UUID | str, kind: str, payload: Mapping[str, Any] | None = None
    ) -> Event:
        """Append an event of a document's lifecycle."""
        return await (await self.open(document_id)).record(kind, payload)

    async def view(self, document_id: UUID | str) -> DocumentView:
        """Return a document as it stands."""
        return await (await self.open(document_id)).view()

    async def bundle(self, document_id: UUID | str, *, with_document: bool = True) -> bytes:
        """Return the evidence of a document as one file."""
        return await (await self.open(document_id)).bundle(with_document=with_document)

    async def trust(self, document_id: UUID | str) -> list[str]:
        """Return what the server trusts about a document."""
        return await (await self.open(document_id)).trust()

    def of(self, added: AddedDocument) -> Document:
        """Return the document of an answer."""
        return Document(self._transport, added.id, added)

    def added(self, fields: Mapping[str, Any]) -> Document:
        """Return the document of an answer."""
        return self.of(decode(AddedDocument, fields))

    async def list(  # type: ignore[override]
        self, *, state: str | None = None, before: UUID | None = None, limit: int = 100
    ) -> Sequence[Mapping[str, Any]]:
        """Return documents, newest first, as the list of the server has them."""
        params = {"state": state, "before": None if before is None else str(before), "limit": limit}
        found = await self._transport.ask("GET", "/v1/documents", params=params)
        return list(found["documents"])


def content_of(data: Data) -> Content:
    """Return a body: bytes as they are, a file in pieces, read anew for each try."""
    return data if isinstance(data, bytes) else partial(_pieces, Path(data))


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while piece := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield piece
