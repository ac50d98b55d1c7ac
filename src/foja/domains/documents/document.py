"""One document: its handle, its id, and the payload of the event that adds it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias, Unpack
from uuid import UUID

from foja.engine.blobs.objects import Objects
from foja.engine.blobs.transfer import unchanged
from foja.engine.ledger.event import Event, StreamItem
from foja.engine.ledger.excerpts import EventProof, prove_event
from foja.engine.ledger.ledger import Ledger
from foja.errors import BadPayload, CannotProduce, IdempotencyConflict
from foja.pure.core.event import event_id_for
from foja.pure.models.documents.events import REQUIRABLE, Evidence, Stage
from foja.pure.models.documents.history import read
from foja.pure.models.documents.signatures import SignatureFields
from foja.pure.models.documents.view import DocumentView, Erasure

if TYPE_CHECKING:
    from foja.domains.documents.service import Documents

Data = bytes | Path | str | BinaryIO
EvidenceName: TypeAlias = Literal["tsa", "polygon", "bitcoin", "rekor", "artifact"]
MAX_SIZE = 2**53
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
    _documents: Documents = field(repr=False, compare=False)
    _ledger: Ledger = field(repr=False, compare=False)

    async def protect(
        self,
        required_evidence: str | Iterable[str] = (Evidence.TSA,),
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
        """Append an event of the document's lifecycle, such as `document.witness.ready`."""
        return await self._documents.record(
            self.id, kind, payload, actor=actor, idempotency_key=idempotency_key
        )

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

        A signature that Foja cannot check is recorded with `format="unchecked"`.
        """
        who: dict[str, Any] = {"actor": actor, "idempotency_key": idempotency_key}
        return await self._documents.sign(self.id, signature, witness_hash=witness_hash, **who, **fields)

    async def revoke(
        self, *, reason: str, actor: str | None = None, idempotency_key: str | None = None
    ) -> Event:
        """Revoke the document. Its proofs stay valid; no further evidence is requested."""
        return await self._documents.revoke(
            self.id, reason=reason, actor=actor, idempotency_key=idempotency_key
        )

    async def archive(
        self, *, reason: str, actor: str | None = None, idempotency_key: str | None = None
    ) -> Event:
        """Archive the document. No further evidence is requested, and only workers may append events."""
        return await self._documents.archive(
            self.id, reason=reason, actor=actor, idempotency_key=idempotency_key
        )

    async def retry(
        self,
        evidence: EvidenceName = "tsa",
        *,
        reason: str | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Grant new attempts for an evidence that was given up."""
        return await self._documents.retry(
            self.id, evidence, reason=reason, actor=actor, idempotency_key=idempotency_key
        )

    async def erase(self, *, reason: str, actor: str | None = None) -> Erasure:
        """Erase name, digest and predecessor from `document.added`; return what stays, and why."""
        return await self._documents.erase(self.id, reason=reason, actor=actor)

    async def view(self) -> DocumentView:
        """Return the state of the document, computed from its events."""
        return await self._documents.view(self.id)

    async def explain(self) -> str:
        """Return what the document waits for, since when, and what happens next and when."""
        return await self._documents.explain(self.id)

    async def bundle(self, *, with_document: bool = True) -> bytes:
        """Return the evidence there is now as one file that `foja.verify` checks."""
        return await self._documents.bundle(self.id, with_document=with_document)

    async def trust(self) -> list[str]:
        """Return what this installation trusts about the document, as `foja.verify(trust=…)` takes it."""
        return await self._documents.trust(self.id)

    async def events(self, *, after: str | int | None = None, limit: int = 1000) -> list[Event]:
        """Return up to `limit` events after a cursor or number."""
        return await self._ledger.events(self.id, after, limit)

    def follow(self, *, after: str | int | None = None) -> AsyncGenerator[StreamItem]:
        """Yield the events after a cursor or number, then new events as they are appended, without end."""
        return self._ledger.follow(self.id, after)

    async def prove(self, seq: int) -> EventProof:
        """Return the proof that an event is in the log; raise `NotCovered` while no checkpoint covers it."""
        return await prove_event(self._ledger, self.id, seq)


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


def check_evidence(evidence: Iterable[str], abilities: AbstractSet[str]) -> Sequence[str]:
    """Return the required evidence in order; raise if it is unknown or cannot be produced here."""
    required = set(evidence)
    if unknown := sorted(required - set(REQUIRABLE)):
        raise BadPayload(f"unknown evidence {unknown[0]!r}: expected one of {', '.join(REQUIRABLE)}")
    if Evidence.TSA not in required:
        raise BadPayload("a timestamp is always required: add `tsa` to the evidence")
    if missing := sorted(required - abilities):
        raise CannotProduce(
            f"this installation cannot produce {', '.join(missing)}; leave it out; "
            "`foja anchors enable NETWORK` enables one"
        )
    return [each.value for each in REQUIRABLE if each in required]


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


def check_size(size: int | None) -> int | None:
    """Return the size of bytes that are elsewhere, or raise `BadPayload`."""
    if size is not None and not 0 <= size < MAX_SIZE:
        raise BadPayload(f"not a valid size: {size}; expected the number of bytes, or leave it out")
    return size
