"""A job as a worker gets it, and the outcomes it can have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from uuid import UUID

from foja.engine.ledger.event import MAX_SEQ, Draft
from foja.errors import BadPayload, Refused
from foja.pure.core.fields import Rules, a, check_fields, listed, optional, seconds, text, whole


class Job(NamedTuple):
    """A leased unit of work; the token proves the lease."""

    id: int
    type: str
    entity_id: UUID
    tenant: str
    key: str
    payload: Any
    tries: int
    max_tries: int
    token: UUID
    lease_seconds: float
    alone: bool = False  # a worker died with it: nothing else should run beside it
    corrected: bool = False  # its correlation was not its stream

    @property
    def correlation_id(self) -> UUID:
        """The stream, always."""
        return self.entity_id


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be queued. A job of the same type, stream and key is queued once.

    `on_death` is the event {kind, v, payload} that is appended if the job dies.
    """

    type: str
    entity_id: UUID
    key: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    delay: float = 0.0
    priority: int = 1
    on_death: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be appended by a worker or by `decide`, to the job's own stream unless another is named."""

    kind: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    entity_id: UUID | None = None
    actor: str | None = None
    idempotency_key: str | None = None
    expected_seq: int | None = None
    v: int = 1


@dataclass(frozen=True, slots=True)
class Done:
    """The events that were found and the jobs that follow, all recorded or none.

    With `read`, only while the stream is sealed up to that number: otherwise the job is queued again.
    `needless` are the refusals after which nothing is left to do: the job is done without its events.
    """

    events: Sequence[Any] = ()  # NewEvent, or Draft within this package
    jobs: Sequence[NewJob] = ()
    read: int | None = None
    needless: Sequence[type[Refused]] = ()


@dataclass(frozen=True, slots=True)
class Retry:
    """It failed and may succeed later: after so many seconds, or after the backoff of its type."""

    error: str
    after: float | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Retrying cannot help. `events` are appended instead of the job's on_death event.

    `needless` is as it is for `Done`.
    """

    error: str
    events: Sequence[Any] = ()
    needless: Sequence[type[Refused]] = ()


@dataclass(frozen=True, slots=True)
class Snooze:
    """There is nothing to do before so many seconds have passed. It does not count as a try.

    `error` is what it waits for, if something else fails.
    """

    seconds: float
    error: str | None = None


Outcome: TypeAlias = Done | Retry | GiveUp | Snooze

_OBJECT, _ERROR = a(Mapping, "an object"), a(str, "a text")
_EVENTS = listed((NewEvent, Draft), "a list of NewEvent")
_ERRORS = listed(type, "a list of errors")
_RULES: Final[Mapping[type, Rules]] = {
    NewJob: {
        "type": a(str, "the name of a job type"),
        "entity_id": a(UUID, "a UUID"),
        "key": text(),
        "payload": _OBJECT,
        "delay": seconds(),
        "priority": whole(0, 2),
        "on_death": optional(_OBJECT),
    },
    NewEvent: {"kind": a(str, "the name of a kind"), "entity_id": optional(a(UUID, "a UUID"))},
    Draft: {},
    Done: {
        "events": _EVENTS,
        "jobs": listed(NewJob, "a list of NewJob"),
        "read": optional(whole(0, MAX_SEQ - 1)),
        "needless": _ERRORS,
    },
    Retry: {"error": _ERROR, "after": optional(seconds())},
    GiveUp: {"error": _ERROR, "events": _EVENTS, "needless": _ERRORS},
    Snooze: {"seconds": seconds()},
}


def check_outcome(value: Outcome | NewJob | NewEvent | Draft) -> None:
    """Raise `BadPayload` unless this is an outcome, a job or an event whose fields can be sent."""
    if type(value) not in _RULES:
        raise BadPayload(f"{value!r} is not an outcome: return Done, Retry, GiveUp or Snooze for each job")
    check_fields(value, _RULES[type(value)], BadPayload)
    for each in (*getattr(value, "events", ()), *getattr(value, "jobs", ())):
        check_outcome(each)


# `lost`: the lease belongs to another worker, nothing was changed. `already`: settled before, the answer was
# lost. `again`: the stream grew since it was read, nothing was appended, the job is queued.
Settlement: TypeAlias = Literal["done", "retry", "give_up", "snooze", "again", "already", "lost"]
