"""Append one event, and tell how far a stream is, for streams of every domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Header

from foja.access.model.principal import Scope
from foja.conversations.model.events import CONVERSATION, DECISION
from foja.errors import BadPayload, IdempotencyConflict, UnknownEntity, WrongEntity
from foja.ledger.event import Event
from foja.ledger.stream import Stream
from foja.requests.model.events import REQUEST
from foja.requests.service import KeyedRequest
from foja.web.bodies import NewEvent
from foja.web.caller import Caller
from foja.web.transfer.encoder import JsonAnswer

MAX_KEY_LENGTH = 255
Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="the same key again answers with what the first made"),
]


def check_key(key: str | None) -> None:
    """Raise `BadPayload` unless this can be the key of a request."""
    if key is not None and not 0 < len(key) <= MAX_KEY_LENGTH:
        raise BadPayload(f"not a valid Idempotency-Key: expected 1 to {MAX_KEY_LENGTH} characters")


def keyed(caller: Caller, key: str | None, address: str) -> KeyedRequest:
    """Return a request to an address under its key, for an act that is not one event of a given stream."""
    check_key(key)
    return KeyedRequest(caller.app.ledger.only(REQUEST), caller.principal.actor, address, key)


def refuse_second(what: str, found: Sequence[str] | None) -> None:
    """Raise `IdempotencyConflict` if a request made something whose secret was in its only answer."""
    if found:
        raise IdempotencyConflict(
            f"the {what} {found[0]} was made under this Idempotency-Key, and its secret is shown once; "
            "rotate it if the answer was lost"
        )


def check_kind(stream: Stream, kind: str, caller: Caller) -> None:
    """Raise `NotAllowed` if an event decides an approval and the caller may not."""
    if kind == DECISION and stream.domain.name == CONVERSATION.name:
        caller.principal.check(Scope.APPROVE)


async def append_to(stream: Stream, new: NewEvent, key: str | None, caller: Caller) -> Event:
    """Append an event to a stream, under the key of its request."""
    check_key(key)
    check_kind(stream, new.kind, caller)
    try:
        return await stream.append(**caller.signed(new), idempotency_key=key)
    except WrongEntity:
        raise unknown(stream) from None


def unknown(stream: Stream) -> UnknownEntity:
    """Return the answer about an id that is another domain's or tenant's: here it does not exist."""
    return UnknownEntity(f"there is no {stream.domain.name} {stream.id}; check the id and the domain")


async def state_of(stream: Stream) -> dict[str, Any]:
    """Return how many events, sealed events and gaps a stream has; raise if it has no events."""
    state = await stream.state()
    if not state.next_seq:
        raise UnknownEntity(f"{stream.id} has no events; check the id, or append its first event")
    counts = {"next_seq": state.next_seq, "sealed": state.sealed, "gaps": await stream.gaps()}
    return {"id": str(stream.id), **counts}


def describe_event(event: Event) -> dict[str, Any]:
    """Return `event.envelope()` for `JsonAnswer`, which writes ids and times itself, and faster."""
    return {
        "seq": event.seq,
        "id": event.id,
        "kind": event.kind,
        "at": event.at,
        "v": event.v,
        "actor": event.actor,
        "entity_id": event.entity_id,
        "correlation_id": event.entity_id,
        "_source": event.source,
        "payload": event.payload,
        "cursor": event.cursor,
    }


def event_answer(event: Event) -> JsonAnswer:
    """Return an event as the answer to the request that appended it."""
    return JsonAnswer(event.envelope(), status_of(event))


def status_of(event: Event) -> int:
    """Return 201 for a new event, 200 for a replayed one."""
    return 200 if event.replayed else 201
