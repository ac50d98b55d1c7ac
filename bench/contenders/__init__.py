"""The event stores that are compared. A new one is a class here and a line in a list below."""

from __future__ import annotations

from collections.abc import Sequence

from bench.contenders.eventsourcing_recorder import EventSourcing
from bench.contenders.foja_ledger import NOTE, Foja
from bench.contenders.messagedb import MessageDb, find_scripts
from bench.contenders.payloads import ANSWER, MESSAGE, TOOL_RESULT, Body
from bench.contenders.raw import Raw
from bench.harness import Contender

RAW = "raw unsafe insert"
FOJA, ONE_BY_ONE, OWN = "foja", "foja, no micro-batching", "foja, own domain"
MANY, EACH = "foja, append_many", "foja, append_each"
ABSENT = "message-db is missing: npm could not install its package."


def all_contenders() -> list[Contender]:
    """Return the contenders that can append one event to one of many streams."""
    found = hot_contenders()
    if scripts := find_scripts():
        found.append(MessageDb(scripts, one_category=False))
    return found


def hot_contenders() -> list[Contender]:
    """Return the contenders that can append to one stream from many callers."""
    found: list[Contender] = [
        Raw(RAW),
        Foja(FOJA),
        Foja(ONE_BY_ONE, micro_batch=False),
        Foja(OWN, "streams of a user's domain", body=NOTE),
        Foja("foja, with worker", "the sequencer runs in the same process", worker=True),
        *_event_sourcing(),
    ]
    if scripts := find_scripts():
        found.append(MessageDb(scripts, one_category=True))
    return found


def body_contenders() -> list[Contender]:
    """Return the baseline and Foja with each of the bodies that users write."""
    bodies = (MESSAGE, ANSWER, TOOL_RESULT)
    return [contender for body in bodies for contender in (Raw(raw(body), body), Foja(ours(body), body=body))]


def raw(body: Body) -> str:
    """Return the name of the baseline with this body."""
    return f"{RAW}, {body.name}"


def ours(body: Body) -> str:
    """Return the name of Foja with this body."""
    return f"{FOJA}, {body.name}"


def batch_contenders() -> list[Contender]:
    """Return the contenders that can append several events in one call."""
    return [Raw(RAW), Foja(MANY), Foja(EACH, each=True), *_event_sourcing()]


def remarks(contenders: Sequence[Contender]) -> list[str]:
    """Return a remark if a contender is missing."""
    return [] if any(isinstance(each, MessageDb) for each in contenders) else [ABSENT]


def _event_sourcing() -> list[EventSourcing]:
    return [EventSourcing(functions=False), EventSourcing(functions=True)]
