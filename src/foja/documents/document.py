"""One document: its handle, its id, and the payload of the event that adds it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import UUID

from foja.blobs.store import Store
from foja.core.bundle.manifest import stream_document
from foja.core.event import derived_id
from foja.core.registry import check_digest
from foja.documents.bundle_facts import Transcript
from foja.documents.model.events import Evidence, Stage
from foja.documents.model.view import DocumentView
from foja.errors import BadPayload, UnknownEntity
from foja.ledger.event import Event, StreamItem
from foja.ledger.event_proof import EventProof, prove_event
from foja.ledger.ledger import Ledger

if TYPE_CHECKING:
    from foja.documents.service import Documents

Data = bytes | Path | str | BinaryIO


@dataclass(frozen=True, slots=True)
class Document:
    """A handle on one document. The same bytes under the same name have the same id.

    The fields of an opened document are None if the body of its `document.added` was erased.
    """

    id: UUID
    sha256: str | None
    name: str | None
    size: int | None
    custody: str | None
    new: bool  # False: it was added before
    _documents: Documents = field(repr=False, compare=False)
    _ledger: Ledger = field(repr=False, compare=False)

    async def protect(
        self,
        required_evidence: Iterable[str] = (Evidence.TSA,),
        *,
        stage: str | None = None,
        witness_hash: str | None = None,
        actor: str | None = None,
    ) -> Event:
        """Request evidence of the document as it is now. An equal request returns the first one."""
        return await self._documents.protect(
            self.id, required_evidence, stage=stage, witness_hash=witness_hash, actor=actor
        )

    async def record(
        self,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Append an event of the document's lifecycle, such as `document.signed`."""
        return await self._documents.record(
            self.id, kind, payload, actor=actor, idempotency_key=idempotency_key
        )

    async def revoke(self, *, reason: str, actor: str | None = None) -> Event:
        """Revoke the document. Its proofs stay valid; no further evidence is requested."""
        return await self._documents.revoke(self.id, reason=reason, actor=actor)

    async def archive(self, *, reason: str, actor: str | None = None) -> Event:
        """Archive the document. No further evidence is requested, and only workers may append events."""
        return await self._documents.archive(self.id, reason=reason, actor=actor)

    async def retry(
        self, evidence: str = Evidence.TSA, *, reason: str | None = None, actor: str | None = None
    ) -> Event:
        """Grant new attempts for an evidence that was given up."""
        return await self._documents.retry(self.id, evidence, reason=reason, actor=actor)

    async def view(self) -> DocumentView:
        """Return the state of the document, computed from its events."""
        return await self._documents.view(self.id)

    async def explain(self) -> str:
        """Return what the document waits for, since when, and what happens next and when."""
        return await self._documents.explain(self.id)

    async def bundle(self, *, with_document: bool = True) -> bytes:
        """Return the evidence there is now as one file that `foja.verify` checks."""
        return await self._documents.bundle(self.id, with_document=with_document)

    async def events(self, *, after: str | int | None = None, limit: int = 1000) -> list[Event]:
        """Return up to `limit` events after a cursor or number."""
        return await self._ledger.events(self.id, after, limit)

    def follow(self, *, after: str | int | None = None) -> AsyncGenerator[StreamItem]:
        """Yield the events after a cursor or number, then new events as they are appended, without end."""
        return self._ledger.follow(self.id, after)

    async def prove(self, seq: int) -> EventProof:
        """Return the proof that an event is in the log; raise `NotCovered` while no checkpoint covers it."""
        return await prove_event(self._ledger, self.id, seq)


async def store_data(store: Store, data: Data) -> dict[str, Any]:
    """Store the bytes and return the payload fields that describe them."""
    async with _opened(data) as source:
        sha256, size = await store.keep(source)
    return {"sha256": sha256, "custody": "stored", "size": size}


async def store_transcript(store: Store, transcript: Transcript) -> dict[str, Any]:
    """Store a transcript with its events and return the payload fields that describe them."""
    return {
        "sha256": await store.put(transcript.text),
        "custody": "stored",
        "size": len(transcript.text),
        "transcript_of": stream_document(transcript.stream),
        "excerpt_sha256": await store.put(transcript.excerpt),
    }


def describe_digest(sha256: str, size: int | None) -> dict[str, Any]:
    """Return the payload fields of a document whose bytes are not stored here."""
    return {"sha256": check_digest(sha256), "custody": "hash_only", "size": size}


def added_payload(
    content: Mapping[str, Any], name: str | None, media_type: str | None, predecessor: UUID | None
) -> dict[str, Any]:
    """Return the payload of `document.added`, without the fields that are None."""
    previous = str(predecessor) if predecessor else None
    payload = {**content, "name": name, "media_type": media_type, "predecessor": previous}
    return {field: value for field, value in payload.items() if value is not None}


def derive_id(namespace: UUID, tenant: str, sha256: str, name: str | None, predecessor: UUID | None) -> UUID:
    """Return the id of the document with these bytes and this name."""
    if not _is_utf8(name or ""):
        raise BadPayload(f"the name {name!a} is not UTF-8; rename the file, or give another name")
    fields = (tenant, sha256, name or "", str(predecessor or ""))
    return derived_id(b"foja/document/v1", namespace.bytes, *(field.encode() for field in fields))


def parse_id(document_id: UUID | str) -> UUID:
    """Return the id as a UUID, or raise `UnknownEntity`."""
    try:
        return UUID(str(document_id))
    except ValueError:
        raise UnknownEntity(f"{document_id!r} is not a valid document id: expected a UUID") from None


def check_stage(stage: str) -> str:
    """Return the stage of a request, or raise `BadPayload`."""
    if stage not in set(Stage):
        raise BadPayload(f"unknown stage {stage!r}: expected one of {', '.join(Stage)}")
    return str(stage)


@asynccontextmanager
async def _opened(data: Data) -> AsyncIterator[BinaryIO]:
    if isinstance(data, bytes):
        yield io.BytesIO(data)
    elif isinstance(data, Path | str):
        file = await asyncio.to_thread(Path(data).open, "rb")
        try:
            yield file
        finally:
            await asyncio.to_thread(file.close)
    else:
        yield data


def _is_utf8(text: str) -> bool:
    """Return whether the text can be encoded. File names that are not UTF-8 contain lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
