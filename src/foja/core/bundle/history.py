"""The sealed prefix of one stream: one line per event, with everything needed to check it.

A line holds no chain hash: the reader computes the chain and its head. In a bundle the manifest names the
stream; an exported history names it in a line before the events.
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
_NO_HASH = bytes(32)


def encode(events: Iterable[Excerpt]) -> Iterator[bytes]:
    """Yield one line per event, newline included."""
    for event in events:
        salt = None if event.salt is None else event.salt.hex()
        line = {"event": envelope(event), "salt": salt, "body_hash": event.body_hash.hex()}
        yield canonical(line) + b"\n"


def export(domain: str, entity_id: UUID, events: Iterable[Excerpt]) -> Iterator[bytes]:
    """Yield a history that names its own stream."""
    yield heading(domain, entity_id)
    yield from encode(events)


def heading(domain: str, entity_id: UUID) -> bytes:
    """Return the first line, which names the stream."""
    return canonical({"form": FORM, "domain": domain, "entity_id": str(entity_id)}) + b"\n"


def read_heading(line: bytes) -> tuple[str, UUID]:
    """Return the domain and the stream that the first line names, or raise `BadBundle`."""
    try:
        fields = _closed(parse(line), _HEADING)
        domain, entity_id = str(fields["domain"]), UUID(str(fields["entity_id"]))
        encoded = heading(domain, entity_id)
    except (NotCanonical, ValueError) as error:
        raise BadBundle("MALFORMED", f"the history does not name its stream ({error})") from None
    if encoded != line + b"\n":
        raise BadBundle("NON_CANONICAL", "the first line of the history is not in canonical form")
    return domain, entity_id


def decode(domain: str, entity_id: UUID, chunks: Iterable[bytes]) -> Iterator[Excerpt]:
    """Yield every event with its body checked and its chain hash computed, or raise `BadBundle`."""
    yield from decode_lines(domain, entity_id, split(chunks))


def decode_lines(domain: str, entity_id: UUID, lines: Iterable[bytes]) -> Iterator[Excerpt]:
    """Do what `decode` does, for lines that are already split."""
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
    """Return the event with its chain hash after this head."""
    fields = (event.entity_id, event.seq, event.event_id, event.kind, event.at_us, event.body_hash)
    return replace(event, previous=previous, chain_hash=step(previous, *fields))


def _event(domain: str, entity_id: UUID, seq: int, line: bytes) -> Excerpt:
    try:
        fields = _closed(parse(line), _LINE)
        event = read_event({"domain": domain, **fields}, _NO_HASH, _NO_HASH)
        encoded = b"".join(encode([event]))
    except BadBundle:
        raise
    except (NotCanonical, Tampered) as error:
        raise BadBundle("MALFORMED", f"line {seq} of the history is not an event ({error})") from None
    if encoded != line + b"\n":
        raise BadBundle("NON_CANONICAL", f"line {seq} of the history is not in canonical form")
    if event.seq != seq or event.entity_id != entity_id:
        raise BadBundle("LEDGER_GAP", f"event {seq} of {entity_id} is missing; another is in its place")
    return event


def _closed(value: Json, names: frozenset[str]) -> Mapping[str, Json]:
    if not isinstance(value, dict) or set(value) != names:
        raise BadBundle("UNKNOWN_FIELD", "a line of the history has missing or unknown fields")
    return value


def split(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a history, or raise `BadBundle` if a line is too long or has no end."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > LONGEST_LINE:
            raise BadBundle("ZIP_BOMB", f"a line of the history is longer than {LONGEST_LINE} bytes")
    if rest:
        raise BadBundle("LEDGER_GAP", "the history ends in the middle of a line")
