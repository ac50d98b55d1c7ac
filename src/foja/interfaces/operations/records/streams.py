"""What callers can do with a stream: of a conversation, or of a domain of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeAlias, TypeVar
from uuid import UUID

from pydantic import Field

from foja.domains.conversations.service import Conversation
from foja.domains.documents.document import Document
from foja.domains.streams import OwnStream
from foja.engine.ledger.event import MAX_SEQ, Draft, Event
from foja.engine.ledger.excerpts import EventProof
from foja.engine.ledger.lanes.held import AppendResult
from foja.engine.ledger.stream import Stream
from foja.errors import BadPayload, FojaError, Refused, UnknownEntity, WrongEntity
from foja.interfaces.answers.documents import AddedDocument
from foja.interfaces.answers.problem import problem_from
from foja.interfaces.answers.streams import (
    BatchAnswer,
    BatchEvent,
    BatchResult,
    DomainList,
    DomainStreamState,
    ErasedEvent,
    ProvenEvent,
    StreamId,
    StreamPage,
    StreamState,
)
from foja.interfaces.operations.caller import Caller, check_key
from foja.interfaces.operations.operation import Author, Made, Operation
from foja.interfaces.operations.requests import protect_once
from foja.pure.core.fields import many
from foja.pure.core.registry import RESERVED_DOMAINS
from foja.pure.models.access.principal import Scope
from foja.pure.models.conversations.events import CONVERSATION, DECISION
from foja.pure.pages import MAX_LIMIT

MAX_EVENTS, MAX_ATOMIC = 1_000, 256
Seq = Annotated[int, Field(ge=0, lt=MAX_SEQ), "the number of an event"]
Before = Annotated[UUID | None, "the last id of the page before"]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), "at most this many"]
Payload = Mapping[str, Any]
Kind = Annotated[str, "the kind of the event, such as agent_message_sent"]
Fields = Annotated[Payload, "the fields of the kind"]
ExpectedSeq = Annotated[int | None, "the number it must get; refused if there are more events by now"]
Version = Annotated[int, "the version of the kind"]
Evidence = Annotated[str | Sequence[str], Field(examples=[["tsa"]])]


Named = TypeVar("Named", bound=Conversation[Document] | OwnStream | Document, covariant=True)


@dataclass(frozen=True)
class Opened(Generic[Named]):
    """A stream that a caller named."""

    caller: Caller
    stream: Named


AnyStream: TypeAlias = Opened[Conversation[Document] | OwnStream]
Provable: TypeAlias = Opened[Conversation[Document] | OwnStream | Document]


async def append(
    opened: AnyStream,
    kind: Kind,
    payload: Fields,
    *,
    expected_seq: ExpectedSeq = None,
    actor: Author = None,
    v: Version = 1,
    idempotency_key: str | None = None,
) -> Event:
    """Append an event; it cannot be changed. The same Idempotency-Key again returns the first."""
    if isinstance(opened.stream, OwnStream):
        opened = await _own(opened, kind, v)
    stream = opened.stream
    check_kind(stream, kind, opened.caller)
    try:
        return await stream.append(
            kind,
            payload,
            idempotency_key=idempotency_key,
            expected_seq=expected_seq,
            actor=actor,
            v=v,
        )
    except WrongEntity:
        raise unknown(stream) from None


async def append_many(
    opened: AnyStream,
    events: Annotated[list[BatchEvent], Field(min_length=1, max_length=MAX_EVENTS)],
    *,
    atomic: bool = False,
    idempotency_key: str | None = None,
) -> Made[BatchAnswer]:
    """Append many events, all or none, or each by itself; see the result of each."""
    if isinstance(opened.stream, OwnStream):
        opened = await _own(opened, events[0].kind, events[0].v)
    if atomic:
        if len(events) > MAX_ATOMIC:
            raise BadPayload(f"an atomic batch has at most {MAX_ATOMIC} events; send several, or not atomic")
        drafts = [_draft(opened, at, each, idempotency_key) for at, each in enumerate(events)]
        found: Sequence[AppendResult] = await _append_all(opened.stream, drafts)
    else:
        found = await _append_each(opened, events, idempotency_key)
    appended = sum(isinstance(each, Event) and not each.replayed for each in found)
    results = [_result(opened.stream, each) for each in found]
    return Made(BatchAnswer(appended, results), new=appended == len(found))


async def state(opened: AnyStream) -> StreamState:
    """Return how many events a stream has, how many are sealed, and how many numbers were voided."""
    stream = opened.stream
    found = await stream.state()
    if not found.next_seq:
        raise UnknownEntity(f"{stream.id} has no events; check the id, or append its first event")
    return StreamState(stream.id, found.next_seq, found.sealed, await stream.gaps())


async def state_own(opened: AnyStream) -> DomainStreamState:
    """Return how many events a stream has, and how many are sealed."""
    found = await state(opened)
    return DomainStreamState(found.id, found.next_seq, found.sealed, found.gaps, opened.stream.domain.name)


async def prove(opened: Provable, seq: Seq) -> ProvenEvent:
    """Return the proof that an event is in the log; 409 while no checkpoint covers it."""
    return proven(await opened.stream.prove(seq), opened.caller.app.trust[0])


async def erase(opened: AnyStream, seq: Seq, *, reason: str, actor: str | None = None) -> ErasedEvent:
    """Erase the body of an event. Its hash and every proof of it stay valid."""
    await opened.stream.erase(seq, reason=reason, actor=actor)
    return ErasedEvent(seq)


async def protect(opened: AnyStream, required_evidence: Evidence = "tsa") -> Made[AddedDocument]:
    """Add the sealed events as a document and request evidence of it."""
    return await protect_once(opened.caller, opened.stream.protect, many(required_evidence))


async def domains(caller: Caller) -> DomainList:
    """List the registered domains with their kinds."""
    return DomainList([domain.definition() for domain in await caller.app.registry.domains()])


async def streams(caller: Caller, domain: str, *, before: Before = None, limit: Limit = 100) -> StreamPage:
    """List the streams of a domain, newest first."""
    service = caller.app.streams(await caller.app.registry.find(domain))
    found = await service.list(before=before, limit=limit)
    return StreamPage([StreamId(each) for each in found], found[-1] if len(found) == limit else None)


def proven(found: EventProof, key: str) -> ProvenEvent:
    """Return an event and its proof as texts, with the public key of the log."""
    texts = found.proof_text(), found.event_text(), found.arguments_text()
    return ProvenEvent(*texts, found.index, found.size, key)


def check_kind(stream: Stream, kind: str, caller: Caller) -> None:
    """Raise `NotAllowed` if an event decides an approval and the caller may not."""
    if kind == DECISION and stream.domain.name == CONVERSATION.name:
        caller.principal.check(Scope.APPROVE)


def unknown(stream: Stream) -> UnknownEntity:
    """Return the answer about an id that is another domain's or tenant's: here it does not exist."""
    return UnknownEntity(f"there is no {stream.domain.name} {stream.id}; check the id and the domain")


async def own_stream(caller: Caller, domain: str, stream_id: str) -> Opened[OwnStream]:
    """Find a stream of a domain of theirs; one of another domain is unknown here."""
    stream = await caller.app.streams(await caller.app.registry.find(domain)).open(stream_id)
    await stream.check_domain()
    return Opened(caller, stream)


async def _own(opened: AnyStream, kind: str, v: int) -> Opened[OwnStream]:
    """Return a stream with its domain as the database has it, where this kind is not known here yet."""
    name, app = opened.stream.domain.name, opened.caller.app
    if name in RESERVED_DOMAINS:
        raise Refused(f"events of a {name} are not appended here; use the routes of its own")
    stream = await app.streams(await app.registry.find(name, (kind, v))).open(opened.stream.id)
    return Opened(opened.caller, stream)


async def _append_all(stream: Stream, drafts: Sequence[Draft]) -> Sequence[AppendResult]:
    try:
        return await stream.append_many(drafts)
    except WrongEntity:
        raise unknown(stream) from None


async def _append_each(
    opened: AnyStream, events: Sequence[BatchEvent], key: str | None
) -> Sequence[AppendResult]:
    """Append each event that can be one; what is wrong with the others is their result."""
    made: list[Draft | FojaError] = []
    for at, each in enumerate(events):
        try:
            made.append(_draft(opened, at, each, key))
        except FojaError as error:
            made.append(error)
    drafts = [each for each in made if isinstance(each, Draft)]
    recorded = iter(await opened.stream.append_each(drafts) if drafts else [])
    return [next(recorded) if isinstance(each, Draft) else each for each in made]


def _draft(opened: AnyStream, at: int, event: BatchEvent, key: str | None) -> Draft:
    own = event.idempotency_key
    if own is None and key is not None:
        own = f"{key}:{at}"
    check_key(own)
    check_kind(opened.stream, event.kind, opened.caller)
    return opened.stream.draft(
        event.kind,
        event.payload,
        idempotency_key=own,
        expected_seq=event.expected_seq,
        actor=opened.caller.author(event.actor),
        v=event.v,
    )


def _result(stream: Stream, found: AppendResult) -> BatchResult:
    if isinstance(found, Event):
        return BatchResult(found, not found.replayed, None)
    error = unknown(stream) if isinstance(found, WrongEntity) else found
    return BatchResult(None, new=False, problem=problem_from(error))


def is_new(event: Event) -> bool:
    """Return whether an event was not recorded before."""
    return not event.replayed


ONE = "/v1/streams/{domain}/{stream_id}"
OPERATIONS = (
    Operation("streams.domains", "GET /v1/streams", domains, Scope.READ),
    Operation("streams.list", "GET /v1/streams/{domain}", streams, Scope.READ),
    Operation("stream.state", f"GET {ONE}", state_own, Scope.READ, own_stream),
    Operation("stream.append", f"POST {ONE}/events", append, Scope.WRITE, own_stream, new=is_new),
    Operation("stream.append_many", f"POST {ONE}/events/batch", append_many, Scope.WRITE, own_stream),
    Operation("stream.prove", f"GET {ONE}/events/{{seq}}/proof", prove, Scope.READ, own_stream),
    Operation("stream.erase", f"POST {ONE}/events/{{seq}}/erase", erase, Scope.WRITE, own_stream),
    Operation("stream.protect", f"POST {ONE}/protect", protect, Scope.WRITE, own_stream, takes_key=True),
)
