"""Ways to keep events. A new one is a class here and a line in a field."""

from __future__ import annotations

from collections.abc import Sequence

from bench.contenders.eventsourced import EventSourcing
from bench.contenders.messagedb import MessageDb, obtain
from bench.contenders.ours import Foja
from bench.contenders.raw import Raw
from bench.harness import Contender

RAW = "raw unsafe insert"
FOJA, ONE_BY_ONE = "foja", "foja, no micro-batching"
MANY, EACH = "foja, append_many", "foja, append_each"
ABSENT = "message-db is left out: npm could not bring its package."


def field() -> list[Contender]:
    """Return everybody who can append one event to one of many streams."""
    found = hot_field()
    if scripts := obtain():
        found.append(MessageDb(scripts, one_category=False))
    return found


def hot_field() -> list[Contender]:
    """Return everybody who can append one event to the same stream as the others."""
    found: list[Contender] = [
        Raw(RAW),
        Foja(FOJA),
        Foja(ONE_BY_ONE, micro_batch=False),
        Foja("foja, tool results", "bodies of several fields", results=True),
        Foja("foja, its worker beside", "the sequencer runs in the same process", worker=True),
        *_event_sourcing(),
    ]
    if scripts := obtain():
        found.append(MessageDb(scripts, one_category=True))
    return found


def batch_field() -> list[Contender]:
    """Return everybody who can append several events in one call."""
    return [Raw(RAW), Foja(MANY), Foja(EACH, each=True), *_event_sourcing()]


def remarks(contenders: Sequence[Contender]) -> list[str]:
    """Return what a reader must know about who is missing."""
    return [] if any(isinstance(each, MessageDb) for each in contenders) else [ABSENT]


def _event_sourcing() -> list[EventSourcing]:
    return [EventSourcing(functions=False), EventSourcing(functions=True)]
