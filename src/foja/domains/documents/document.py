"""One document: what can be done with it, by its id."""

from __future__ import annotations

import io
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Literal, TypeAlias, Unpack
from uuid import UUID

from foja.domains.documents.context import DocumentContext
from foja.engine.ledger.event import Event, StreamItem
from foja.engine.ledger.excerpts import EventProof, prove_event
from foja.errors import BadPayload, IdempotencyConflict, OutOfTurn, UnknownEntity
from foja.pure.core.event import event_id_for
from foja.pure.core.fields import many
from foja.pure.core.registry import check_digest
from foja.pure.models.documents.events import DOCUMENT, Evidence, Stage
from foja.pure.models.documents.history import read
from foja.pure.models.documents.rules import is_stalled
from foja.pure.models.documents.signatures import (
    SIGNED,
    SignatureFields,
    check_recordable,
    key_of,
    payload_of,
)
from foja.pure.models.documents.view import DocumentView, Erasure, view

EvidenceName: TypeAlias = Literal["tsa", "polygon", "bitcoin", "rekor", "artifact"]
RETRY = "protection.retry.requested"


@dataclass(frozen=True, slots=True)
class Document:
    """A handle on one document. The same bytes under the same name have the same id.

    The fields of an opened document are None if the body of its `document.added` was erased.
    """

    id: UUID
    sha256: str | None
    name: str | None
    size: int | None
    custody: Literal["stored", "hash_only"] | None
    new: bool  # False: it was added before
    _context: DocumentContext = field(repr=False, compare=False)

    async def protect(
        self,
        required_evidence: str | Iterable[str] = (Evidence.TSA,),
        *,
        stage: str | None = None,
        witness_hash: str | None = None,
        actor: str | None = None,
    ) -> Event:
        """Request evidence of the document as it is now. An equal request returns the first one."""
        evidence = await self._context.check_evidence(required_evidence)
        witness = check_digest(witness_hash or await self._rendition())
        stages = {} if stage is None else {"stage": check_stage(stage)}
        payload = {"witness_hash": witness, "required_evidence": list(evidence), **stages}
        key = f"request:{stage or Stage.FINAL}:{witness}:{','.join(evidence)}"
        try:
            return await self._context.append(self.id, "document.protected.requested", payload, actor, key)
        except (IdempotencyConflict, BadPayload, OutOfTurn):
            # Requested before: with or without `stage: final`, or from SQL, where there is no key.
            if first := find_request((await self._context.history(self.id))[0], payload):
                await self._context.ledger.await_standbys()
                return first
            raise

    async def record(
        self,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Append an event of the document's lifecycle, such as `document.witness.ready`."""
        body = dict(payload or {})
        if kind == SIGNED:
            DOCUMENT.kind(kind, DOCUMENT.newest(kind), "api").check(body)
            check_recordable(body, (await self._context.history(self.id))[1])
        return await self._context.append(self.id, kind, body, actor, idempotency_key)

    async def sign(
        self,
        signature: bytes | None = None,
        *,
        witness_hash: str | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[SignatureFields],
    ) -> Event:
        """Check a signature over the document as it is now, and record it. Raise `BadPayload` if it is wrong.

        A signature that Foja cannot check is recorded with `format="unchecked"`. One that is checked is
        recorded once without a key, too.
        """
        witness = check_digest(witness_hash or await self._rendition())
        body = payload_of(signature, witness, **fields)
        key = key_of(body) or idempotency_key
        return await self.record(SIGNED, body, actor=actor, idempotency_key=key)

    async def revoke(
        self,
        *,
        reason: str,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Revoke the document. Its proofs stay valid; no further evidence is requested."""
        body = {"reason": reason}
        return await self.record("document.revoked", body, actor=actor, idempotency_key=idempotency_key)

    async def archive(
        self,
        *,
        reason: str,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Archive the document. No further evidence is requested, and only workers may append events."""
        body = {"reason": reason}
        return await self.record("document.archived", body, actor=actor, idempotency_key=idempotency_key)

    async def retry(
        self,
        evidence: EvidenceName = "tsa",
        *,
        reason: str | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Grant new attempts for an evidence that was given up."""
        granted = await self.grant([evidence], reason=reason, actor=actor, idempotency_key=idempotency_key)
        if not granted:
            raise OutOfTurn(
                f"{evidence} of {self.id} was not given up; `foja explain {self.id}` shows its state"
            )
        return granted[-1]

    async def grant(
        self,
        evidence: str | Collection[str] = tuple(Evidence),
        *,
        reason: str | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Sequence[Event]:
        """Grant new attempts for each of these that was given up; return the events, none if none was.

        The last event has the key; the same request again returns that one.
        """
        chosen = many(evidence)
        optional = {"reason": reason} if reason else {}
        events, now = await self._context.history(self.id)
        if before := find_retry(events, idempotency_key, {"evidence": chosen, "actor": actor, **optional}):
            await self._context.ledger.await_standbys()
            return [before]
        history = read(events)
        stalled = [
            each
            for each in history.tracks.values()
            if each.evidence in chosen and is_stalled(each, self._context.policy, now)
        ]
        granted = []
        for left, track in zip(range(len(stalled))[::-1], stalled, strict=True):
            witness = track.witness
            if track.evidence is Evidence.ARTIFACT and history.last:
                witness = history.last.witness  # a document has one artifact: that of its last request
            payload = {"evidence": track.evidence, "witness_hash": witness, **optional}
            key = f"{idempotency_key}/{left}" if idempotency_key and left else idempotency_key
            granted.append(await self.record(RETRY, payload, actor=actor, idempotency_key=key))
        return granted

    async def erase(self, *, reason: str, actor: str | None = None) -> Erasure:
        """Erase name, digest and predecessor from `document.added`; return what stays, and why."""
        events, _ = await self._context.history(self.id)
        await self._context.ledger.erase(DOCUMENT, self.id, 0, reason=reason, actor=actor)
        return describe_rest(events)

    async def view(self) -> DocumentView:
        """Return the state of the document, computed from its events."""
        events, now = await self._context.history(self.id)
        obstacles = await self._context.obstacles(self.id)
        return view(
            self.id,
            events,
            abilities=self._context.abilities,
            at=now,
            policy=self._context.policy,
            note=self._context.note,
            successors=await self._context.ids("document_successors", document=self.id),
            obstacles=obstacles,
        )

    async def explain(self) -> str:
        """Return what the document waits for, since when, and what happens next and when."""
        return (await self.view()).explain

    async def bundle(self, *, with_document: bool = True) -> bytes:
        """Return the evidence there is now as one file that `foja.verify` checks."""
        with io.BytesIO() as file:
            await self.write_bundle(file, with_document=with_document)
            return file.getvalue()

    async def write_bundle(
        self,
        target: BinaryIO,
        *,
        with_document: bool = True,
        statements: Sequence[bytes] = (),
    ) -> None:
        """Write the bundle to a file: the artifact if it is final, else the evidence there is now.

        The bundle of a revoked document is built again, so that it contains the revocation; so is one with
        `statements` of monitors, which are about the last event.
        """
        artifact = await self.artifact()
        if artifact and with_document and not statements:
            await self._context.objects.fetch(self._context.ledger.tenant, artifact, target)
        else:
            await self._context.bundles.write(
                self.id, target, with_document=with_document, statements=statements
            )

    async def artifact(self) -> str | None:
        """Return the digest of the final bundle, or None if there is none, or a newer one has to be built."""
        await self._context.check_known(self.id)
        rows = await self._context.ledger.ask("document_artifact", document=self.id)
        return str(rows[0][0]) if rows else None

    async def proofs(self) -> dict[str, bytes]:
        """Return each proof of the document by the name of a file in its tool's own format."""
        await self._context.check_known(self.id)
        return await self._context.bundles.proofs(self.id)

    async def trust(self) -> list[str]:
        """Return what this installation trusts about the document, as `foja.verify(trust=…)` takes it.

        These are its roots, and the blocks and keys that its nodes confirmed for the document.
        """
        await self._context.check_known(self.id)
        return await self._context.bundles.trust(self.id)

    async def events(self, *, after: str | int | None = None, limit: int = 1000) -> list[Event]:
        """Return up to `limit` events after a cursor or number."""
        return await self._context.ledger.events(self.id, after, limit)

    def follow(self, *, after: str | int | None = None) -> AsyncGenerator[StreamItem]:
        """Yield the events after a cursor or number, then new events as they are appended, without end."""
        return self._context.ledger.follow(self.id, after)

    async def prove(self, seq: int) -> EventProof:
        """Return the proof that an event is in the log; raise `NotCovered` while no checkpoint covers it."""
        return await prove_event(self._context.ledger, self.id, seq)

    async def _rendition(self) -> str:
        events, _ = await self._context.history(self.id)
        if digest := read(events).rendition:
            return digest
        raise UnknownEntity(f"document {self.id} has no digest, it was erased; give witness_hash")


def describe_rest(events: Sequence[Event]) -> Erasure:
    """Return what stays of a document when its `document.added` is erased."""
    history, rest = read(events), []
    if history.added and history.added.get("custody") == "stored":
        rest.append(_kept_for_now("the bytes", history.added["sha256"]))
    if history.requests:
        rest.append("the digest stays in the requests and the tokens: they are the evidence about it")
    built = [each.payload for each in events if each.kind in ("artifact.finalized", "artifact.renewed")]
    rest += [_kept_for_now("the bytes of the artifact", payload["sha256"]) for payload in built if payload]
    return Erasure(tuple(rest))


def _kept_for_now(what: str, sha256: str) -> str:
    return (
        f"{what} stay in the store until orphans are purged, or as long as something else refers to them; "
        f"`foja orphans purge --object {sha256} --reason TEXT` removes them now"
    )


def find_request(events: Sequence[Event], payload: Mapping[str, Any]) -> Event | None:
    """Return the first request that is equal to this one, if there is one."""
    stage, evidence = payload.get("stage", Stage.FINAL), tuple(payload["required_evidence"])
    for each in read(events).requests:
        if (each.witness, each.stage, each.evidence) == (payload["witness_hash"], stage, evidence):
            return events[each.seq]
    return None


def find_retry(events: Sequence[Event], key: str | None, asked: Mapping[str, Any]) -> Event | None:
    """Return the retry that this key made; raise `IdempotencyConflict` if the key made something else."""
    made = key and event_id_for(events[0].entity_id, key)
    before = next((each for each in events if made and each.id == made), None)
    if before is None:
        return None
    said = {**(before.payload or {}), "actor": before.actor}
    same = before.kind == RETRY and said.get("evidence") in asked["evidence"]
    if not same or any(said.get(name) != asked.get(name) for name in ("actor", "reason")):
        raise IdempotencyConflict(f"the key {key!r} was used for another event; use another key")
    return replace(before, replayed=True)


def check_stage(stage: str) -> str:
    """Return the stage of a request, or raise `BadPayload`."""
    if stage not in set(Stage):
        raise BadPayload(f"unknown stage {stage!r}: expected one of {', '.join(Stage)}")
    return str(stage)
