"""Documents: add, open, protect, view, explain. Workers do what a request leads to."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any, BinaryIO, Unpack
from uuid import UUID

from foja.domains.documents.bundles import Bundles
from foja.domains.documents.document import (
    RETRY,
    Data,
    Document,
    check_evidence,
    check_size,
    check_stage,
    describe_rest,
    find_request,
    find_retry,
    rewound,
    store_data,
)
from foja.domains.documents.lists import DocumentLists, DocumentState
from foja.engine.blobs.objects import Objects, until_referred
from foja.engine.jobs.announcement import LIVING_SECONDS
from foja.engine.ledger.event import Event, EventRow, parse_id
from foja.engine.ledger.ledger import Ledger
from foja.errors import BadPayload, IdempotencyConflict, NotCanonical, OutOfTurn, UnknownEntity
from foja.pure.core.fields import many
from foja.pure.core.registry import check_digest
from foja.pure.models.documents.events import DOCUMENT, Evidence, Stage
from foja.pure.models.documents.history import read
from foja.pure.models.documents.rules import Policy, is_stalled
from foja.pure.models.documents.signatures import (
    SIGNED,
    SignatureFields,
    check_recordable,
    key_of,
    payload_of,
)
from foja.pure.models.documents.view import DocumentRow, DocumentView, Erasure, Obstacles, view

ADDED = "added"


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
        self._ledger, self._objects, self._bundles, self._notify = ledger, objects, bundles, notify
        self.lists = DocumentLists(ledger, note)
        self.abilities = frozenset(abilities)  # what this installation can produce, as it was read last
        self.policy, self._note = policy, note

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
        events, _ = await self._history(document)
        return self._handle(document, read(events).added or {}, new=False)

    async def find(self, document_id: UUID | str) -> Document:
        """Return the document with this id, or raise `UnknownEntity`. Its events are not read: no fields."""
        return self._handle(await self._known(document_id), {}, new=False)

    async def protect(
        self,
        document_id: UUID | str,
        required_evidence: str | Iterable[str] = (Evidence.TSA,),
        *,
        stage: str | None = None,
        witness_hash: str | None = None,
        actor: str | None = None,
    ) -> Event:
        """Request evidence of the document as it is now. An equal request returns the first one."""
        document = parse_id(document_id, "document")
        evidence = await self.check_evidence(required_evidence)
        witness = check_digest(witness_hash or await self._rendition(document))
        stages = {} if stage is None else {"stage": check_stage(stage)}
        payload = {"witness_hash": witness, "required_evidence": list(evidence), **stages}
        key = f"request:{stage or Stage.FINAL}:{witness}:{','.join(evidence)}"
        try:
            return await self._append(document, "document.protected.requested", payload, actor, key)
        except (IdempotencyConflict, BadPayload, OutOfTurn):
            # Requested before: with or without `stage: final`, or from SQL, where there is no key.
            if first := find_request((await self._history(document))[0], payload):
                await self._ledger.await_standbys()
                return first
            raise

    async def record(
        self,
        document_id: UUID | str,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Append an event of the document's lifecycle, such as `document.witness.ready`."""
        document, body = parse_id(document_id, "document"), dict(payload or {})
        if kind == SIGNED:
            DOCUMENT.kind(kind, DOCUMENT.newest(kind), "api").check(body)
            check_recordable(body, (await self._history(document))[1])
        return await self._append(document, kind, body, actor, idempotency_key)

    async def sign(
        self,
        document_id: UUID | str,
        signature: bytes | None = None,
        *,
        witness_hash: str | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[SignatureFields],
    ) -> Event:
        """Check a signature over the document as it is now and record it, or raise `BadPayload`.

        A signature that is checked is recorded once without a key, too.
        """
        witness = check_digest(witness_hash or await self._rendition(parse_id(document_id, "document")))
        body = payload_of(signature, witness, **fields)
        key = key_of(body) or idempotency_key
        return await self.record(document_id, SIGNED, body, actor=actor, idempotency_key=key)

    async def revoke(
        self,
        document_id: UUID | str,
        *,
        reason: str,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Revoke the document. Its proofs stay valid; no further evidence is requested."""
        body = {"reason": reason}
        return await self.record(
            document_id, "document.revoked", body, actor=actor, idempotency_key=idempotency_key
        )

    async def archive(
        self,
        document_id: UUID | str,
        *,
        reason: str,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Archive the document. No further evidence is requested, and only workers may append events."""
        body = {"reason": reason}
        return await self.record(
            document_id, "document.archived", body, actor=actor, idempotency_key=idempotency_key
        )

    async def retry(
        self,
        document_id: UUID | str,
        evidence: str = Evidence.TSA,
        *,
        reason: str | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Grant new attempts for an evidence that was given up."""
        granted = await self.grant(
            document_id, [evidence], reason=reason, actor=actor, idempotency_key=idempotency_key
        )
        if not granted:
            raise OutOfTurn(
                f"{evidence} of {document_id} was not given up; `foja explain {document_id}` shows its state"
            )
        return granted[-1]

    async def grant(
        self,
        document_id: UUID | str,
        evidence: str | Collection[str] = tuple(Evidence),
        *,
        reason: str | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Sequence[Event]:
        """Grant new attempts for each of these that was given up; return the events, none if none was.

        The last event has the key; the same request again returns that one.
        """
        document, chosen = parse_id(document_id, "document"), many(evidence)
        optional = {"reason": reason} if reason else {}
        events, now = await self._history(document)
        if before := find_retry(events, idempotency_key, {"evidence": chosen, "actor": actor, **optional}):
            await self._ledger.await_standbys()
            return [before]
        history = read(events)
        stalled = [
            each
            for each in history.tracks.values()
            if each.evidence in chosen and is_stalled(each, self.policy, now)
        ]
        granted = []
        for left, track in zip(range(len(stalled))[::-1], stalled, strict=True):
            witness = track.witness
            if track.evidence is Evidence.ARTIFACT and history.last:
                witness = history.last.witness  # a document has one artifact: that of its last request
            payload = {"evidence": track.evidence, "witness_hash": witness, **optional}
            key = f"{idempotency_key}/{left}" if idempotency_key and left else idempotency_key
            granted.append(await self.record(document, RETRY, payload, actor=actor, idempotency_key=key))
        return granted

    async def erase(self, document_id: UUID | str, *, reason: str, actor: str | None = None) -> Erasure:
        """Erase name, digest and predecessor from `document.added`; return what stays, and why."""
        document = parse_id(document_id, "document")
        events, _ = await self._history(document)
        await self._ledger.erase(DOCUMENT, document, 0, reason=reason, actor=actor)
        return describe_rest(events)

    async def view(self, document_id: UUID | str) -> DocumentView:
        """Return the state of the document, computed from its events."""
        document = parse_id(document_id, "document")
        events, now = await self._history(document)
        obstacles = await self._obstacles(document)
        return view(
            document,
            events,
            abilities=self.abilities,
            at=now,
            policy=self.policy,
            note=self._note,
            successors=await self._ids("document_successors", document=document),
            obstacles=obstacles,
        )

    async def explain(self, document_id: UUID | str) -> str:
        """Return what the document waits for, since when, and what happens next and when."""
        return (await self.view(document_id)).explain

    async def events(self, document_id: UUID | str) -> Sequence[Event]:
        """Return all events of the document, in order."""
        return (await self._history(parse_id(document_id, "document")))[0]

    async def bundle(self, document_id: UUID | str, *, with_document: bool = True) -> bytes:
        """Return the evidence there is now as one file that `foja.verify` checks."""
        with io.BytesIO() as file:
            await self.write_bundle(document_id, file, with_document=with_document)
            return file.getvalue()

    async def write_bundle(
        self,
        document_id: UUID | str,
        target: BinaryIO,
        *,
        with_document: bool = True,
        statements: Sequence[bytes] = (),
    ) -> None:
        """Write the bundle to a file: the artifact if it is final, else the evidence there is now.

        The bundle of a revoked document is built again, so that it contains the revocation; so is one with
        `statements` of monitors, which are about the last event.
        """
        artifact = await self.artifact(document_id)
        if artifact and with_document and not statements:
            await self._objects.fetch(self._ledger.tenant, artifact, target)
        else:
            document = parse_id(document_id, "document")
            await self._bundles.write(document, target, with_document=with_document, statements=statements)

    async def artifact(self, document_id: UUID | str) -> str | None:
        """Return the digest of the final bundle, or None if there is none, or a newer one has to be built."""
        rows = await self._ledger.ask("document_artifact", document=await self._known(document_id))
        return str(rows[0][0]) if rows else None

    async def proofs(self, document_id: UUID | str) -> dict[str, bytes]:
        """Return each proof of the document by the name of a file in its tool's own format."""
        return await self._bundles.proofs(await self._known(document_id))

    async def trust(self, document_id: UUID | str) -> builtins.list[str]:
        """Return the roots of this installation, and the blocks and keys that its nodes confirmed for it."""
        return await self._bundles.trust(await self._known(document_id))

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
        return await self._ids("documents_known", documents=list(documents))

    async def versions(self, sha256: str, names: Sequence[str]) -> Sequence[UUID]:
        """Return the documents with this digest, one of these names and a predecessor, newest first."""
        return await self._ids("document_versions", sha256=sha256, names=list(names))

    async def at_work(self, documents: Sequence[UUID], *, within: float = 5.0) -> set[UUID]:
        """Return those for which a job runs, or will run within this many seconds."""
        return set(await self._ids("documents_at_work", documents=list(documents), within=within))

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
        return await self._ids("documents_failed", evidence=wanted, after=after, limit=limit)

    async def check_evidence(self, evidence: str | Iterable[str]) -> Sequence[str]:
        """Return the required evidence in order; raise if it is unknown or cannot be produced here."""
        required = many(evidence)
        if not self.abilities.issuperset(required):  # perhaps it can by now
            self.abilities = frozenset(name for (name,) in await self._ledger.ask("abilities"))
        return check_evidence(required, self.abilities)

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
            new = not (await self._append(document, "document.added", payload, actor, ADDED)).replayed
        except IdempotencyConflict:  # added before with other fields: the first ones count
            events, _ = await self._history(document)
            await self._ledger.await_standbys()
            new, payload = False, {**payload, **(read(events).added or {})}
        return self._handle(document, {**payload, "sha256": content["sha256"], "name": name}, new=new)

    def _handle(self, document: UUID, added: Mapping[str, Any], *, new: bool) -> Document:
        sha256, name, size, custody = map(added.get, ("sha256", "name", "size", "custody"))
        return Document(document, sha256, name, size, custody, new, self, self._ledger)

    async def _append(
        self, document: UUID, kind: str, payload: Mapping[str, Any], actor: str | None, key: str | None
    ) -> Event:
        v = DOCUMENT.newest(kind)
        draft = self._ledger.draft(DOCUMENT, document, kind, payload, actor=actor, idempotency_key=key, v=v)
        event = await self._ledger.append(draft)
        self._notify()
        return event

    async def _known(self, document_id: UUID | str) -> UUID:
        """Return the id of a document, or raise `UnknownEntity`."""
        document = parse_id(document_id, "document")
        if not await self.known([document]):
            raise _unknown(document)
        return document

    async def _history(self, document: UUID) -> tuple[Sequence[Event], datetime]:
        rows = await self._ledger.ask("document_history", EventRow, document=document)
        if not rows:
            raise _unknown(document)
        return [row.event(document) for row in rows], rows[0].now.astimezone(UTC)

    async def _rendition(self, document: UUID) -> str:
        events, _ = await self._history(document)
        if digest := read(events).rendition:
            return digest
        raise UnknownEntity(f"document {document} has no digest, it was erased; give witness_hash")

    async def _obstacles(self, document: UUID) -> Obstacles:
        """Return what keeps a document waiting; read the abilities of the installation on the way."""
        await self._ledger.ask("queue_woken")
        values = {"document": document, "living": LIVING_SECONDS}
        [row] = await self._ledger.ask("document_obstacles", Obstacles, **values)
        self.abilities = frozenset(row.abilities)
        return row

    async def _ids(self, query: str, **values: object) -> Sequence[UUID]:
        return [document for (document,) in await self._ledger.ask(query, **values)]


def _unknown(document: UUID) -> UnknownEntity:
    return UnknownEntity(
        f"there is no document {document}; check the id, which may be that of another stream, and FOJA_TENANT"
    )
