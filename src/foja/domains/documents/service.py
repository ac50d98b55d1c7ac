"""Documents: add, open, list, and every verb of one by its id. Workers do what a request leads to."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, Concatenate, ParamSpec, TypeVar
from uuid import UUID

from foja.domains.documents.bundles import Bundles
from foja.domains.documents.context import DocumentContext
from foja.domains.documents.document import Document
from foja.domains.documents.lists import DocumentLists, DocumentState
from foja.engine.blobs.objects import Objects, until_referred
from foja.engine.blobs.transfer import unchanged
from foja.engine.ledger.event import Event, parse_id
from foja.engine.ledger.ledger import Ledger
from foja.errors import BadPayload, IdempotencyConflict, NotCanonical
from foja.pure.core.fields import many
from foja.pure.core.registry import check_digest
from foja.pure.models.documents.history import read
from foja.pure.models.documents.rules import Policy
from foja.pure.models.documents.view import DocumentRow

Data = bytes | Path | str | BinaryIO
MAX_SIZE = 2**53
ADDED = "added"
Result = TypeVar("Result")
P = ParamSpec("P")


def _of(
    verb: Callable[Concatenate[Document, P], Awaitable[Result]],
) -> Callable[Concatenate[Documents, UUID | str, P], Awaitable[Result]]:
    """Return a verb of a document as one of all documents, with its id first."""

    @wraps(verb)
    async def call(self: Documents, document_id: UUID | str, /, *values: P.args, **named: P.kwargs) -> Result:
        return await verb(self._handle(document_id), *values, **named)

    return call


class Documents:
    """Every document of this tenant."""

    def __init__(
        self,
        ledger: Ledger,
        objects: Objects,
        *,
        abilities: AbstractSet[str],
        policy: Policy,
        bundles: Bundles,
        notify: Callable[[], None],
        note: str | None,
    ) -> None:
        self._ledger, self._objects, self._bundles = ledger, objects, bundles
        self.lists = DocumentLists(ledger, note)
        self._context = DocumentContext(ledger, objects, bundles, policy, notify, note, frozenset(abilities))

    protect = _of(Document.protect)
    record = _of(Document.record)
    sign = _of(Document.sign)
    revoke = _of(Document.revoke)
    archive = _of(Document.archive)
    retry = _of(Document.retry)
    grant = _of(Document.grant)
    erase = _of(Document.erase)
    view = _of(Document.view)
    explain = _of(Document.explain)
    bundle = _of(Document.bundle)
    write_bundle = _of(Document.write_bundle)
    artifact = _of(Document.artifact)
    proofs = _of(Document.proofs)
    trust = _of(Document.trust)

    @property
    def abilities(self) -> frozenset[str]:
        """What this installation can produce, as it was read last."""
        return self._context.abilities

    @property
    def policy(self) -> Policy:
        """How often and how long evidence is tried."""
        return self._context.policy

    async def add(
        self,
        data: Data,
        *,
        name: str | None = None,
        media_type: str | None = None,
        predecessor: UUID | None = None,
        actor: str | None = None,
    ) -> Document:
        """Store bytes, a path or a binary file and add the document. Adding it again returns the same one.

        A new version is a document of its own; `predecessor` is the id of the version before it.
        """

        async def attempt() -> Document:
            return await self._add(
                await store_data(self._objects.of(self._ledger.tenant), data),
                name,
                media_type,
                predecessor,
                actor,
            )

        return await until_referred(rewound(data, attempt))

    async def add_digest(
        self,
        sha256: str,
        *,
        name: str | None = None,
        size: int | None = None,
        media_type: str | None = None,
        predecessor: UUID | None = None,
        actor: str | None = None,
    ) -> Document:
        """Add a document by its digest, without storing its bytes."""
        content = {"sha256": check_digest(sha256), "custody": "hash_only", "size": check_size(size)}
        return await self._add(content, name, media_type, predecessor, actor)

    async def add_transcript(
        self, entity_id: UUID, *, name: str | None = None, actor: str | None = None
    ) -> Document:
        """Add the sealed events of another stream as a document. Its bundle proves that they are complete."""

        async def attempt() -> Document:
            content = await self._bundles.store_transcript(entity_id)
            title = name or f"{content['transcript_of']['domain']}-{entity_id}.jsonl"
            return await self._add(content, title, "application/jsonl", None, actor)

        return await until_referred(attempt)

    async def open(self, document_id: UUID | str) -> Document:
        """Return the document with this id, or raise `UnknownEntity`."""
        document = parse_id(document_id, "document")
        events, _ = await self._context.history(document)
        return self._document(document, read(events).added or {}, new=False)

    async def find(self, document_id: UUID | str) -> Document:
        """Return the document with this id, or raise `UnknownEntity`. Its events are not read: no fields."""
        found = self._handle(document_id)
        await self._context.check_known(found.id)
        return found

    def _handle(self, document_id: UUID | str) -> Document:
        """Return the document with this id, which may not exist. Nothing is read: no fields."""
        return self._document(parse_id(document_id, "document"), {}, new=False)

    async def events(self, document_id: UUID | str) -> Sequence[Event]:
        """Return all events of the document, in order."""
        return (await self._context.history(parse_id(document_id, "document")))[0]

    async def list(
        self, *, before: UUID | None = None, limit: int = 100, state: str | None = None
    ) -> builtins.list[DocumentRow]:
        """Return documents, newest first; `before` is the last one of the previous page.

        `state` limits it to documents in that state, or to those of which evidence was `given_up`.
        """
        return await self.lists.list(before=before, limit=limit, state=state)

    async def search(self, text: str, *, limit: int = 100) -> Sequence[DocumentRow]:
        """Return documents, newest first, whose names have words that begin like those of a text.

        Eight or more hexadecimal digits also find digests and ids that begin with them.
        A name that was erased is not found.
        """
        return await self.lists.search(text, limit=limit)

    async def states(self, documents: Sequence[UUID]) -> dict[UUID, DocumentState]:
        """Return the state of each of these documents; one that is not listed yet has no evidence."""
        return await self.lists.states(documents)

    async def known(self, documents: Sequence[UUID]) -> Sequence[UUID]:
        """Return those of these documents that exist, in the order given."""
        return await self._context.ids("documents_known", documents=list(documents))

    async def versions(self, sha256: str, names: Sequence[str]) -> Sequence[UUID]:
        """Return the documents with this digest, one of these names and a predecessor, newest first."""
        return await self._context.ids("document_versions", sha256=sha256, names=list(names))

    async def at_work(self, documents: Sequence[UUID], *, within: float = 5.0) -> set[UUID]:
        """Return those for which a job runs, or will run within this many seconds."""
        return set(await self._context.ids("documents_at_work", documents=list(documents), within=within))

    async def length(self, documents: Sequence[UUID]) -> int:
        """Return how many events these documents have together."""
        [(count,)] = await self._ledger.ask("documents_length", documents=list(documents))
        return int(count)

    async def failed(
        self, evidence: str | Iterable[str] | None = None, *, after: UUID | None = None, limit: int = 1000
    ) -> Sequence[UUID]:
        """Return documents, by id, with a failed attempt at one of these, and none open or confirmed."""
        wanted = None if evidence is None else many(evidence)
        after = after or UUID(int=0)
        return await self._context.ids("documents_failed", evidence=wanted, after=after, limit=limit)

    async def check_evidence(self, evidence: str | Iterable[str]) -> Sequence[str]:
        """Return the required evidence in order; raise if it is unknown or cannot be produced here."""
        return await self._context.check_evidence(evidence)

    def identity(self, sha256: str, name: str | None, predecessor: UUID | None = None) -> UUID:
        """Return the id of the document with these bytes and this name, whether it was added or not."""
        previous = str(predecessor or "")
        try:
            return self._ledger.derived_id(b"foja/document/v1", sha256, name or "", previous)
        except NotCanonical:  # a file name that is not UTF-8 contains lone surrogates
            raise BadPayload(
                f"the name {name!a} is not UTF-8; rename the file, or give another name"
            ) from None

    async def _add(
        self,
        content: Mapping[str, Any],
        name: str | None,
        media_type: str | None,
        predecessor: UUID | None,
        actor: str | None,
    ) -> Document:
        document = self.identity(content["sha256"], name, predecessor)
        previous = str(predecessor) if predecessor else None
        fields = {**content, "name": name, "media_type": media_type, "predecessor": previous}
        payload = {field: value for field, value in fields.items() if value is not None}
        try:
            new = not (await self._context.append(document, "document.added", payload, actor, ADDED)).replayed
        except IdempotencyConflict:  # added before with other fields: the first ones count
            events, _ = await self._context.history(document)
            await self._ledger.await_standbys()
            new, payload = False, {**payload, **(read(events).added or {})}
        return self._document(document, {**payload, "sha256": content["sha256"], "name": name}, new=new)

    def _document(self, document: UUID, added: Mapping[str, Any], *, new: bool) -> Document:
        sha256, name, size, custody = map(added.get, ("sha256", "name", "size", "custody"))
        return Document(document, sha256, name, size, custody, new, self._context)


async def store_data(objects: Objects, data: Data) -> dict[str, Any]:
    """Store the bytes and return the payload fields that describe them."""
    if isinstance(data, Path | str):
        with unchanged(Path(data)) as file:
            return await store_data(objects, file)
    stored = await (objects.put(data) if isinstance(data, bytes) else objects.keep(data))
    return {"sha256": stored.sha256, "custody": "stored", "size": stored.size}


def rewound(data: Data, attempt: Callable[[], Awaitable[Document]]) -> Callable[[], Awaitable[Document]]:
    """Return an attempt that reads a file from the same place each time, if it can seek."""
    if isinstance(data, bytes | Path | str) or not data.seekable():
        return attempt
    start = data.tell()

    async def again() -> Document:
        data.seek(start)
        return await attempt()

    return again


def check_size(size: int | None) -> int | None:
    """Return the size of bytes that are elsewhere, or raise `BadPayload`."""
    if size is not None and not 0 <= size < MAX_SIZE:
        raise BadPayload(f"not a valid size: {size}; expected the number of bytes, or leave it out")
    return size
