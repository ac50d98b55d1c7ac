"""Documents: add, protect, look, explain. What follows from a request is done by workers."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any, BinaryIO
from uuid import UUID

from foja.blobs.store import Store
from foja.core.registry import check_digest
from foja.documents import intake
from foja.documents.bundles import Bundles
from foja.documents.intake import Data, Document
from foja.documents.lists import DocumentLists
from foja.documents.model.events import DOCUMENT, REQUIRABLE, Evidence, Stage
from foja.documents.model.history import read
from foja.documents.model.rules import Policy, TrackState, track_state
from foja.documents.model.view import DocumentView, view
from foja.errors import BadPayload, CannotProduce, IdempotencyConflict, OutOfTurn, UnknownEntity
from foja.ledger.event import Event
from foja.ledger.ledger import Ledger

ADDED = "added"


class Documents(DocumentLists):
    """Every document of this tenant."""

    def __init__(
        self,
        ledger: Ledger,
        store: Store,
        *,
        namespace: UUID,
        tenant: str,
        abilities: AbstractSet[str],
        policy: Policy,
        bundles: Bundles,
        tell: Callable[[], None],
        note: str | None,
    ) -> None:
        super().__init__(ledger, note)
        self._store, self._tell = store, tell
        self._namespace, self._tenant = namespace, tenant
        self._bundles = bundles
        self.abilities, self.policy = frozenset(abilities), policy

    async def add(
        self,
        data: Data,
        *,
        name: str | None = None,
        media_type: str | None = None,
        predecessor: UUID | None = None,
        actor: str | None = None,
    ) -> Document:
        """Keep the bytes of a file, a path or a stream, and begin its history. Adding twice is adding once.

        A new version is a document of its own that names its `predecessor`, one that is here.
        """
        said = await intake.kept(self._store, data)
        return await self._begin(said, name, media_type, predecessor, actor)

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
        """Begin the history of something whose bytes stay with whoever has them."""
        said = intake.elsewhere(sha256, size)
        return await self._begin(said, name, media_type, predecessor, actor)

    async def add_transcript(
        self, entity_id: UUID, *, name: str | None = None, actor: str | None = None
    ) -> Document:
        """Begin the history of what another stream says so far. Its bundle shows that it says so."""
        made = await self._bundles.transcribe(entity_id)
        said = await intake.transcribed(self._store, made)
        called = name or f"{made.stream.domain}-{entity_id}.jsonl"
        return await self._begin(said, called, "application/jsonl", None, actor)

    async def protect(
        self,
        document_id: UUID | str,
        required_evidence: Iterable[str] = (Evidence.TSA,),
        *,
        stage: str | None = None,
        witness_hash: str | None = None,
        actor: str | None = None,
    ) -> Event:
        """Ask for evidence of the document as it is now; an equal request returns the first."""
        document = _id(document_id)
        wanted = self.wanted(required_evidence)
        witness = check_digest(witness_hash or await self._rendition(document))
        said: dict[str, Any] = {"witness_hash": witness, "required_evidence": list(wanted)}
        if stage is not None:
            said["stage"] = _stage(stage)
        key = f"request:{stage or Stage.FINAL}:{witness}:{','.join(wanted)}"
        try:
            return await self._append(document, "document.protected.requested", said, actor, key)
        except (IdempotencyConflict, BadPayload, OutOfTurn):
            # Asked for before: with or without the word `final`, or from SQL, where there is no key.
            if first := await self._first_request(document, said):
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
        """Write something that happened to the document: signed, witness ready, …"""
        return await self._append(_id(document_id), kind, dict(payload or {}), actor, idempotency_key)

    async def revoke(self, document_id: UUID | str, *, reason: str, actor: str | None = None) -> Event:
        """Say that the document no longer holds. What is proven stays proven; nothing more is asked for."""
        return await self.record(document_id, "document.revoked", {"reason": reason}, actor=actor)

    async def archive(self, document_id: UUID | str, *, reason: str, actor: str | None = None) -> Event:
        """Put the document away. Nothing more is asked for, and nothing more may be said by people."""
        return await self.record(document_id, "document.archived", {"reason": reason}, actor=actor)

    async def retry(
        self,
        document_id: UUID | str,
        evidence: str = Evidence.TSA,
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Event:
        """Grant new attempts for an evidence that was given up."""
        granted = await self.grant(document_id, [evidence], reason=reason, actor=actor)
        if not granted:
            raise OutOfTurn(
                f"{evidence} of {document_id} was not given up; "
                f"`foja explain {document_id}` says where it stands"
            )
        return granted[-1]

    async def grant(
        self,
        document_id: UUID | str,
        evidence: Collection[str] = tuple(Evidence),
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Sequence[Event]:
        """Do the same for every evidence of these that was given up, if any was; return what was said."""
        document = _id(document_id)
        events, _ = await self._history(document)
        history, because = read(events), {"reason": reason} if reason else {}
        granted = []
        for track in history.tracks.values():
            if track.evidence in evidence and track_state(track, self.policy) is TrackState.GIVEN_UP:
                witness = track.witness
                if track.evidence is Evidence.ARTIFACT and history.last:
                    witness = history.last.witness  # a document has one artifact: of the request that rules
                said = {"evidence": track.evidence, "witness_hash": witness, **because}
                granted.append(await self.record(document, "protection.retry.requested", said, actor=actor))
        return granted

    async def view(self, document_id: UUID | str) -> DocumentView:
        """Return where the document stands, computed from its events."""
        document = _id(document_id)
        events, now = await self._history(document)
        after = [each for (each,) in await self._ledger.ask("document_successors", document=document)]
        return view(
            document,
            events,
            abilities=self.abilities,
            at=now,
            policy=self.policy,
            note=self.note,
            successors=after,
        )

    async def bundle(self, document_id: UUID | str, *, with_document: bool = True) -> bytes:
        """Return the evidence as it is now, as one file that anybody can check."""
        with io.BytesIO() as file:
            await self.write_bundle(document_id, file, with_document=with_document)
            return file.getvalue()

    async def write_bundle(
        self, document_id: UUID | str, target: BinaryIO, *, with_document: bool = True
    ) -> None:
        """Write the same to a file: the artifact once it is final, else what there is by now.

        What was revoked since is written anew, so that its bundle says so.
        """
        document = _id(document_id)
        artifact = await self._ledger.ask("document_artifact", document=document)
        if artifact and with_document:
            await self._store.fetch(artifact[0][0], target)
        else:
            await self._bundles.write(document, target, with_document=with_document)

    async def explain(self, document_id: UUID | str) -> str:
        """Return what the document waits for, since when, and what happens next and when."""
        return (await self.view(document_id)).explain

    async def events(self, document_id: UUID | str) -> Sequence[Event]:
        """Return everything that was said about the document, in order."""
        return (await self._history(_id(document_id)))[0]

    def identity(self, sha256: str, name: str | None, predecessor: UUID | None = None) -> UUID:
        """Return the id that these bytes have, or would have, under this name."""
        return intake.identity(self._namespace, self._tenant, sha256, name, predecessor)

    async def _begin(
        self,
        said: Mapping[str, Any],
        name: str | None,
        media_type: str | None,
        predecessor: UUID | None,
        actor: str | None,
    ) -> Document:
        document = self.identity(said["sha256"], name, predecessor)
        body = intake.described(said, name, media_type, predecessor)
        try:
            new = not (await self._append(document, "document.added", body, actor, ADDED)).replayed
        except IdempotencyConflict:  # added before, in other words: those count
            events, _ = await self._history(document)
            new, body = False, {**body, **(read(events).added or {})}
        return Document(document, said["sha256"], name, body.get("size"), body["custody"], new)

    def wanted(self, evidence: Iterable[str]) -> Sequence[str]:
        """Return what is asked for, in order, or say why it cannot be had here."""
        asked = set(evidence)
        if unknown := sorted(asked - set(REQUIRABLE)):
            raise BadPayload(f"{unknown[0]!r} is no evidence; it is one of {', '.join(REQUIRABLE)}")
        if Evidence.TSA not in asked:
            raise BadPayload("a timestamp is always required: add `tsa` to the evidence")
        if missing := sorted(asked - self.abilities):
            raise CannotProduce(
                f"this installation cannot produce {', '.join(missing)}; leave it out, or install what does"
            )
        return [each.value for each in REQUIRABLE if each in asked]

    async def _rendition(self, document: UUID) -> str:
        events, _ = await self._history(document)
        if digest := read(events).rendition:
            return digest
        raise UnknownEntity(f"document {document} has no digest, it was erased; give witness_hash")

    async def _first_request(self, document: UUID, said: Mapping[str, Any]) -> Event | None:
        """Return the request that says the same, if there is one."""
        events, _ = await self._history(document)
        same = (said["witness_hash"], said.get("stage", Stage.FINAL), tuple(said["required_evidence"]))
        asked = [
            events[each.seq]
            for each in read(events).requests
            if (each.witness, each.stage, each.evidence) == same
        ]
        return asked[0] if asked else None

    async def _append(
        self, document: UUID, kind: str, said: Mapping[str, Any], actor: str | None, key: str | None
    ) -> Event:
        written = await self._ledger.append(
            self._ledger.draft(DOCUMENT, document, kind, said, actor=actor, idempotency_key=key)
        )
        self._tell()
        return written

    async def _history(self, document: UUID) -> tuple[list[Event], datetime]:
        rows = await self._ledger.ask("document_history", document=document)
        if not rows:
            raise UnknownEntity(f"there is no document {document}; check the id and FOJA_TENANT")
        return [Event(document, *row[:-1]) for row in rows], rows[0][-1].astimezone(UTC)


def _id(document_id: UUID | str) -> UUID:
    try:
        return UUID(str(document_id))
    except ValueError:
        raise UnknownEntity(f"{document_id!r} is no id of a document; they are UUIDs") from None


def _stage(stage: str) -> str:
    if stage not in set(Stage):
        raise BadPayload(f"{stage!r} is no stage; it is one of {', '.join(Stage)}")
    return str(stage)
