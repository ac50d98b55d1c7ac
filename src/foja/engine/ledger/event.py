"""An event as it is read, and as it is about to be written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, cast
from uuid import UUID

from foja.errors import BadPayload, TooLarge, UnknownEntity, WrongExpectedSeq
from foja.pure.core import event as core
from foja.pure.core.canonical import canonical
from foja.pure.core.fields import MAX_NAME
from foja.pure.core.registry import Domain

MAX_BODY = 1_048_576
MAX_SEQ = 2**63
OPEN = "slot.open"


@dataclass(frozen=True, slots=True)
class Event:
    """One recorded event. `cursor` is None above a hole; an erased body is None."""

    entity_id: UUID
    seq: int
    id: UUID | None
    kind: str
    v: int
    at: datetime | None
    actor: str | None
    source: str | None
    payload: Any
    body_hash: bytes | None
    cursor: str | None = None
    replayed: bool = field(default=False, compare=False, repr=False)  # was it there already?
    result: int | None = field(default=None, compare=False, repr=False)  # of its guard, if just recorded

    @property
    def open(self) -> bool:
        """Is this only the placeholder of a reserved number?"""
        return self.kind == OPEN

    def envelope(self) -> dict[str, Any]:
        """Return the event as JSON carries it."""
        return {
            "seq": self.seq,
            "id": str(self.id) if self.id else None,
            "kind": self.kind,
            "at": self.at.isoformat() if self.at else None,
            "v": self.v,
            "actor": self.actor,
            "entity_id": str(self.entity_id),
            "correlation_id": str(self.entity_id),
            "_source": self.source,
            "payload": self.payload,
            "cursor": self.cursor,
        }


class _Unfrozen:
    """An event while its fields are set. Setting those of a frozen dataclass takes three times as long."""

    __slots__ = Event.__slots__

    def __init__(
        self,
        entity_id: UUID,
        seq: int,
        event_id: UUID | None,
        kind: str,
        v: int,
        at: datetime | None,
        actor: str | None,
        source: str | None,
        payload: Any,
        body_hash: bytes | None,
        cursor: str | None = None,
        replayed: bool = False,
        result: int | None = None,
    ) -> None:
        self.entity_id = entity_id
        self.seq = seq
        self.id = event_id
        self.kind = kind
        self.v = v
        self.at = at
        self.actor = actor
        self.source = source
        self.payload = payload
        self.body_hash = body_hash
        self.cursor = cursor
        self.replayed = replayed
        self.result = result
        self.__class__ = Event  # type: ignore[assignment]  # the same slots


# Returns an event as its constructor does, from the same arguments.
event_of = cast("Callable[..., Event]", _Unfrozen)


class EventRow(NamedTuple):
    """An event as a short history is read, with the time of reading."""

    seq: int
    id: UUID
    kind: str
    v: int
    at: datetime
    actor: str | None
    source: str
    payload: Any
    body_hash: bytes
    now: datetime

    def event(self, entity_id: UUID) -> Event:
        """Return it as an event of a stream."""
        return Event(
            entity_id,
            self.seq,
            self.id,
            self.kind,
            self.v,
            self.at,
            self.actor,
            self.source,
            self.payload,
            self.body_hash,
        )


@dataclass(frozen=True, slots=True)
class Transient:
    """An event that is shown live and never stored: it has a position in its turn, and no number."""

    entity_id: UUID
    id: UUID
    kind: str
    at: datetime
    turn: str | int | None
    block_index: int | None
    event_index: int | None
    payload: Any
    v: int = 1
    seq: None = None
    cursor: None = None

    def envelope(self) -> dict[str, Any]:
        """Return it as JSON carries it."""
        return {
            "seq": None,
            "id": str(self.id),
            "kind": self.kind,
            "at": self.at.isoformat(),
            "v": self.v,
            "entity_id": str(self.entity_id),
            "turn": self.turn,
            "block_index": self.block_index,
            "event_index": self.event_index,
            "payload": self.payload,
            "cursor": None,
        }


@dataclass(frozen=True, slots=True)
class Reset:
    """The cursor cannot be honoured: forget what you have, everything comes again."""

    reason: str
    kind: str = "reset"
    seq: None = None
    id: None = None
    at: None = None
    payload: None = None
    cursor: None = None

    def envelope(self) -> dict[str, Any]:
        """Return it as JSON carries it."""
        return {"seq": None, "kind": self.kind, "reason": self.reason, "cursor": None}


# What a follower is given.
StreamItem: TypeAlias = Event | Reset | Transient


class Draft(NamedTuple):
    """An event ready to be sent, its id fixed, so that it can be sent twice.

    A tuple, because one is made for every event and a frozen dataclass takes four times as long.
    """

    entity_id: UUID
    domain: str
    tenant: str
    kind: str
    v: int
    event_id: UUID
    actor: str | None
    source: str
    payload: str
    salt: bytes
    body_hash: bytes
    key: str | None
    expected: int | None
    value: Any

    def recorded(
        self, seq: int, at: datetime, body_hash: bytes, cursor: str | None, result: int | None, *, status: str
    ) -> Event:
        """Return this draft as the event it became: just now, before, or before and erased since."""
        actor, payload = (None, None) if status == "erased" else (self.actor, self.value)
        row = (seq, self.event_id, self.kind, self.v, at, actor, self.source, payload, body_hash)
        return event_of(self.entity_id, *row, cursor, status != "appended", result)


def new_id() -> UUID:
    """Return a time-ordered id (UUIDv7)."""
    milliseconds = time.time_ns() // 1_000_000
    tail = int.from_bytes(os.urandom(10)) & 0x0FFF_3FFF_FFFF_FFFF_FFFF
    return UUID(int=(milliseconds << 80) | 0x7000_8000_0000_0000_0000 | tail)


def parse_id(value: UUID | str | None, what: str) -> UUID:
    """Return an id, a new one for None; raise `UnknownEntity` if it is not a UUID."""
    try:
        return new_id() if value is None else UUID(str(value))
    except ValueError:
        raise UnknownEntity(f"{value!r} is not a valid {what} id: expected a UUID") from None


def draft(
    domain: Domain,
    entity_id: UUID,
    kind: str,
    payload: Mapping[str, Any],
    *,
    tenant: str,
    source: str = "api",
    actor: str | None = None,
    idempotency_key: str | None = None,
    expected_seq: int | None = None,
    event_id: UUID | None = None,
    v: int = 1,
) -> Draft:
    """Return the event to be written, or say what is wrong with it."""
    rule = domain.kind(kind, v, source)
    _check_types(kind, payload, actor, idempotency_key, expected_seq)
    rule.check(payload)
    key = rule.key(payload, idempotency_key)
    body = bounded(payload)
    salt = os.urandom(16)
    return Draft(
        entity_id,
        domain.name,
        tenant,
        rule.name,
        v,
        _id_for(entity_id, key, event_id),
        actor,
        source,
        body.decode(),
        salt,
        core.body_hash(salt, core.body_bytes(actor, body, source, v)),
        key,
        expected_seq,
        payload,
    )


def bounded(value: object) -> bytes:
    """Return the canonical bytes of what is to be stored, if they are not too many."""
    body = canonical(value)
    if len(body) > MAX_BODY:
        raise TooLarge(
            f"the payload has {len(body):,} bytes; at most {MAX_BODY:,}: store it as an object instead"
        )
    return body


def _check_name(what: str, value: str | None) -> None:
    """Raise `TooLarge` if this is too long for an actor or a key."""
    # Few bytes can only come from few characters, so that most names are not encoded here.
    if value is None or len(value) * 4 <= MAX_NAME:
        return
    size = len(value.encode(errors="replace"))
    if size > MAX_NAME:
        raise TooLarge(f"the {what} has {size:,} bytes; at most {MAX_NAME:,}: use a shorter one")


def _check_types(kind: str, payload: object, actor: object, key: object, seq: object) -> None:
    if not isinstance(payload, dict):
        raise BadPayload(f"the payload of {kind} must be an object, not {type(payload).__name__}")
    if not (actor is None or isinstance(actor, str)):
        raise BadPayload(f"the actor must be a text, not {type(actor).__name__}")
    if not (key is None or isinstance(key, str)):
        raise BadPayload(f"the idempotency key must be a text, not {type(key).__name__}")
    if key == "":
        raise BadPayload("the idempotency key is empty: give one of 1 to 1,024 bytes, or None")
    _check_name("actor", actor)
    _check_name("idempotency key", key)
    if seq is not None and (type(seq) is not int or not 0 <= seq < MAX_SEQ):
        raise WrongExpectedSeq(f"{seq!r} is not a valid sequence number: expected 0 to {MAX_SEQ - 1}")


def _id_for(entity_id: UUID, key: str | None, given: UUID | None) -> UUID:
    if key is None:
        return given or new_id()
    if given:
        raise BadPayload("an event with an idempotency key gets its id from the key; give one of the two")
    return core.event_id_for(entity_id, key)
