"""Documents over HTTP: what is bytes, and the events of a document."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

from foja.client.acts import DocumentActs, DocumentsActs
from foja.client.encoding import decode
from foja.client.history import History
from foja.client.transport import Content, Request, Transport
from foja.engine.ledger.event import Event, parse_id
from foja.interfaces.answers.documents import AddedDocument

CHUNK_BYTES = 1 << 20
BYTES = "application/octet-stream"
Data: TypeAlias = bytes | PathLike[str] | str  # a path, unless it is bytes


class Document(History, DocumentActs):
    """A document of the server."""

    def __init__(self, transport: Transport, document_id: UUID, added: AddedDocument | None = None) -> None:
        History.__init__(self, transport, document_id, f"/v1/documents/{document_id}")
        DocumentActs.__init__(self, transport, {"document_id": document_id})
        given = added or AddedDocument(document_id, None, None, None, None, new=False)
        self.new, self.sha256, self.name = given.new, given.sha256, given.name
        self.size, self.custody = given.size, given.custody

    async def explain(self) -> str:
        """Return what it waits for and what happens next."""
        return (await self.view()).explain

    async def bundle(self, *, with_document: bool = True) -> bytes:
        """Return the evidence there is now as one file, for `foja.verify`."""
        params = {"with_document": str(with_document).lower()}
        return (await self._transport.send(Request("GET", f"{self._path}/bundle", params=params))).content


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
        return await self._add(params=params, content=content_of(data), headers=headers)

    async def add_digest(
        self,
        sha256: str,
        *,
        name: str | None = None,
        size: int | None = None,
        media_type: str | None = None,
        predecessor: UUID | None = None,
    ) -> Document:
        """Add a document by its SHA-256 digest; its bytes stay with you."""
        body = {"sha256": sha256, "name": name, "size": size, "media_type": media_type}
        return await self._add(json=body | {"predecessor": predecessor and str(predecessor)})

    async def open(self, document_id: UUID | str) -> Document:
        """Return the document with this id. Nothing is sent before it is used."""
        return Document(self._transport, parse_id(document_id, "document"))

    async def bundle(self, document_id: UUID | str, *, with_document: bool = True) -> bytes:
        """Return the evidence of a document as one file."""
        return await (await self.open(document_id)).bundle(with_document=with_document)

    async def events(self, document_id: UUID | str) -> Sequence[Event]:
        """Return the events of a document."""
        return await (await self.open(document_id)).events()

    async def explain(self, document_id: UUID | str) -> str:
        """Return what a document waits for and what happens next."""
        return (await self.view(document_id)).explain

    async def _add(self, **request: Any) -> Document:
        found: Mapping[str, Any] = await self._transport.ask("POST", "/v1/documents", **request)
        return document_of(self._transport, decode(AddedDocument, found))


def document_of(transport: Transport, added: AddedDocument) -> Document:
    """Return the document of an answer."""
    return Document(transport, added.id, added)


def content_of(data: Data) -> Content:
    """Return a body: bytes as they are, a file in pieces, read anew for each try."""
    return data if isinstance(data, bytes) else partial(_pieces, Path(data))


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while piece := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield piece
