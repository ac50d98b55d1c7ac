"""The sealed beginning of one stream, a line per event, each with all that checking it needs.

A line holds no chain hash: whoever reads it derives the chain, and so the head, by himself. In a bundle the
manifest says whose history it is; one that travels by itself says so in a line before the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from uuid import UUID

from foja.core.canonical import Json, canonical, parse
from foja.core.chain import genesis, step
from foja.core.excerpt import Excerpt, envelope, read_event
from foja.errors import BadBundle, NotCanonical, Tampered

FORM = "foja/history/v1"
LONGEST_LINE = 8 << 20
_HEADING = frozenset({"form", "domain", "entity_id"})
_LINE = frozenset({"event", "salt", "body_hash"})
_NOTHING = bytes(32)


def encode(events: Iterable[Excerpt]) -> Iterator[bytes]:
    """Yield one line per event, newline included."""
    for event in events:
        salt = None if event.salt is None else event.salt.hex()
        line = {"event": envelope(event), "salt": salt, "body_hash": event.body_hash.hex()}
        yield canonical(line) + b"\n"


def export(domain: str, entity_id: UUID, events: Iterable[Excerpt]) -> Iterator[bytes]:
    """Yield a history that travels by itself."""
    yield heading(domain, entity_id)
    yield from encode(events)


def heading(domain: str, entity_id: UUID) -> bytes:
    """Return the line that says whose history follows."""
    return canonical({"form": FORM, "domain": domain, "entity_id": str(entity_id)}) + b"\n"


def read_heading(line: bytes) -> tuple[str, UUID]:
    """Return domain and stream of the history that follows this line, or raise `BadBundle`."""
    try:
        fields = _closed(parse(line), _HEADING)
        domain, entity_id = str(fields["domain"]), UUID(str(fields["entity_id"]))
        spelled = heading(domain, entity_id)
    except (NotCanonical, ValueError) as error:
        raise BadBundle("MALFORMED", f"the history does not say whose it is ({error})") from None
    if spelled != line + b"\n":
        raise BadBundle("NON_CANONICAL", "the first line of the history is not in its one spelling")
    return domain, entity_id


def decode(domain: str, entity_id: UUID, chunks: Iterable[bytes]) -> Iterator[Excerpt]:
    """Yield every event, its body checked and its place in the chain derived, or raise `BadBundle`."""
    yield from follow(domain, entity_id, split(chunks))


def follow(domain: str, entity_id: UUID, lines: Iterable[bytes]) -> Iterator[Excerpt]:
    """Do what `decode` does, for lines that were split already."""
    head = genesis(domain, entity_id)
    for seq, line in enumerate(lines):
        event = _event(domain, entity_id, seq, line)
        try:
            linked = link(event, head)
            linked.check()
        except (NotCanonical, Tampered) as error:
            raise BadBundle("LEDGER_BODY", str(error)) from None
        head = linked.chain_hash
        yield linked


def link(event: Excerpt, previous: bytes) -> Excerpt:
    """Return the event as what comes after this head."""
    fields = (event.entity_id, event.seq, event.event_id, event.kind, event.at_us, event.body_hash)
    return replace(event, previous=previous, chain_hash=step(previous, *fields))


def _event(domain: str, entity_id: UUID, seq: int, line: bytes) -> Excerpt:
    try:
        fields = _closed(parse(line), _LINE)
        event = read_event({"domain": domain, **fields}, _NOTHING, _NOTHING)
        spelled = b"".join(encode([event]))
    except BadBundle:
        raise
    except (NotCanonical, Tampered) as error:
        raise BadBundle("MALFORMED", f"line {seq} of the history is not an event ({error})") from None
    if spelled != line + b"\n":
        raise BadBundle("NON_CANONICAL", f"line {seq} of the history is not in its one spelling")
    if event.seq != seq or event.entity_id != entity_id:
        raise BadBundle("LEDGER_GAP", f"event {seq} of {entity_id} is missing; another stands in its place")
    return event


def _closed(value: Json, names: frozenset[str]) -> Mapping[str, Json]:
    if not isinstance(value, dict) or set(value) != names:
        raise BadBundle("UNKNOWN_FIELD", "a line of the history has other fields than it must")
    return value


def split(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a history, none of which is longer than an event can be, or raise `BadBundle`."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > LONGEST_LINE:
            raise BadBundle("ZIP_BOMB", "a line of the history is longer than any event can be")
    if rest:
        raise BadBundle("LEDGER_GAP", "the history ends in the middle of a line")
