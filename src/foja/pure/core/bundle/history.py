"""The sealed prefix of one stream: one line per event, with everything needed to check it.

A line holds no chain hash: the reader computes the chain and its head. In a bundle the manifest names the
stream; an exported history names it in a line before the events. A transcript is a conversation as a
document, derived from its events only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from uuid import UUID

from foja.errors import BadBundle, NotCanonical, Tampered
from foja.pure.core.canonical import Json, canonical, parse
from foja.pure.core.chain import genesis
from foja.pure.core.excerpt import Excerpt, envelope, instant_text, read_event, with_payload

FORM, TRANSCRIPT = "foja/history/v1", "foja/transcript/v1"
LONGEST_LINE = 2 << 20  # a body has at most 1 MiB
_HEADING = frozenset({"form", "domain", "entity_id"})
_LINE = frozenset({"event", "salt", "body_hash"})
_NAMED = 40  # gaps that a refusal names


def encode(events: Iterable[Excerpt]) -> Iterator[bytes]:
    """Yield one line per event, newline included."""
    for event in events:
        yield _encode(event, canonical(event.payload))


def transcript(domain: str, entity_id: UUID, events: Iterable[Excerpt]) -> Iterator[bytes]:
    """Yield the lines of the transcript. The same events always give the same bytes."""
    yield heading(domain, entity_id, TRANSCRIPT)
    for event in events:
        line = {
            "seq": event.seq,
            "at": instant_text(event.at_us),
            "kind": event.kind,
            "actor": event.actor,
            "erased": event.erased,
            "payload": None,
        }
        yield with_payload(line, canonical(event.payload)) + b"\n"


def heading(domain: str, entity_id: UUID, form: str = FORM) -> bytes:
    """Return the first line, which names the stream."""
    return canonical({"form": form, "domain": domain, "entity_id": str(entity_id)}) + b"\n"


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


def decode(domain: str, entity_id: UUID, lines: Iterable[bytes]) -> Iterator[Excerpt]:
    """Yield every event with its body checked and its chain hash computed, or raise `BadBundle`."""
    head, lines = genesis(domain, entity_id), iter(lines)
    for seq, line in enumerate(lines):
        event, payload = _event(domain, entity_id, seq, line, head)
        if event.seq != seq or event.entity_id != entity_id:
            found = chain([event.seq] if event.entity_id == entity_id else [], _numbers(entity_id, lines))
            raise BadBundle("LEDGER_GAP", _gap(entity_id, seq, found))
        try:
            event.check_body(payload)
        except (NotCanonical, Tampered) as error:
            raise BadBundle("LEDGER_BODY", str(error)) from None
        head = event.chain_hash
        yield event


def link(event: Excerpt, previous: bytes) -> Excerpt:
    """Return the event with its chain hash after this head."""
    return replace(event, previous=previous, chain_hash=event.hash_after(previous))


def _encode(event: Excerpt, payload: bytes) -> bytes:
    salt = None if event.salt is None else event.salt.hex()
    line = {"event": envelope(event), "salt": salt, "body_hash": event.body_hash.hex()}
    return with_payload(line, payload) + b"\n"


def _event(domain: str, entity_id: UUID, seq: int, line: bytes, head: bytes) -> tuple[Excerpt, bytes]:
    """Return the event of a line, and its payload in canonical form, which is serialized only once."""
    try:
        fields = _closed(parse(line), _LINE)
        event = read_event({"domain": domain, **fields}, head)
        payload = canonical(event.payload)
        encoded = _encode(event, payload)
    except BadBundle:
        raise
    except (NotCanonical, Tampered) as error:
        raise BadBundle("MALFORMED", f"line {seq} of the history is not an event ({error})") from None
    if encoded != line + b"\n":
        raise BadBundle("NON_CANONICAL", f"line {seq} of the history is not in canonical form")
    return event, payload


def _numbers(entity_id: UUID, lines: Iterable[bytes]) -> Iterator[int]:
    """Yield the numbers of the events in these lines, up to one that cannot be read."""
    for line in lines:
        try:
            event = read_event(_closed(parse(line), _LINE), b"")
        except (BadBundle, NotCanonical, Tampered):
            return
        if event.entity_id == entity_id:
            yield event.seq


def _gap(entity_id: UUID, seq: int, found: Iterable[int]) -> str:
    """Return which events are missing from this number on, of a history that has these from there on."""
    missing = missing_numbers(seq, found)
    if not missing:
        return f"event {seq} of {entity_id} is not in its place: the events are in another order"
    listed = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED:,} more gaps" if len(missing) > _NAMED else ""
    words = ("event", "is") if missing == [(seq, seq)] else ("events", "are")
    return f"{words[0]} {listed}{more} of {entity_id} {words[1]} missing; another is in place of event {seq}"


def missing_numbers(first: int, found: Iterable[int]) -> list[tuple[int, int]]:
    """Return the runs of numbers from `first` on, below the highest found, that are not among those found."""
    runs, expected = list[tuple[int, int]](), first
    for each in sorted({*found}):
        if each > expected:
            runs.append((expected, each - 1))
        expected = max(expected, each + 1)
    return runs


def _closed(value: Json, names: frozenset[str]) -> Mapping[str, Json]:
    if not isinstance(value, dict) or set(value) != names:
        raise BadBundle("UNKNOWN_FIELD", "a line of the history has missing or unknown fields")
    return value


def split(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a history, or raise `BadBundle` if a line is too long or has no end."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in (*lines, rest):
            if len(line) > LONGEST_LINE:
                raise BadBundle("ZIP_BOMB", f"a line of the history is longer than {LONGEST_LINE:,} bytes")
        yield from lines
    if rest:
        raise BadBundle("LEDGER_GAP", "the history ends in the middle of a line")
