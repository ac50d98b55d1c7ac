"""One event with everything needed to check it offline: body to hash, hash to chain, chain to leaf.

Together with the proof that its leaf is in the log, it is evidence that needs no database. It shows only
what a hash covers: without the salt nothing of the body, and the domain only in event 0. It has one encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from foja.errors import BadBundle, NotCanonical, Tampered
from foja.pure.core.canonical import Json, canonical, parse
from foja.pure.core.chain import genesis, leaf_entry, step
from foja.pure.core.event import body_bytes, body_hash, is_in_calendar, microseconds
from foja.pure.quotation import quoted

FORM = "foja/excerpt/v1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PAYLOAD, _SEQ = b'"payload":', b',"seq":'  # neighbours in canonical order
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """An event as it was recorded; `salt` is None if its body was erased or is withheld."""

    domain: str  # empty if it was read from a text that does not show it
    entity_id: UUID
    seq: int
    event_id: UUID
    kind: str
    v: int  # 0 if it was read without a body
    at_us: int
    actor: str | None
    source: str  # empty if it was read without a body
    payload: Json
    salt: bytes | None
    body_hash: bytes
    previous: bytes
    chain_hash: bytes

    @property
    def erased(self) -> bool:
        """Whether the body was erased or is withheld."""
        return self.salt is None

    def hash_after(self, previous: bytes) -> bytes:
        """Return the chain hash of this event if it follows `previous`."""
        fields = (self.seq, self.event_id, self.kind, self.at_us, self.body_hash)
        return step(previous, self.entity_id, *fields)

    def check(self) -> bytes:
        """Return the log's entry, derived from this event alone, or raise `Tampered`."""
        try:
            self.check_body(canonical(self.payload))
            self._check_chain()
            return leaf_entry(self.entity_id, self.seq, self.chain_hash)
        except NotCanonical as error:
            raise Tampered(f"event {self.seq} cannot have been recorded ({error})") from None

    def text(self) -> str:
        """Return the excerpt as it is written to a file: one line of canonical JSON."""
        document = {
            "form": FORM,
            "domain": None if self.seq else self.domain,  # no hash of a later event covers it
            "event": envelope(self),
            "salt": None if self.salt is None else self.salt.hex(),
            "body_hash": self.body_hash.hex(),
            "previous_chain_hash": self.previous.hex(),
            "chain_hash": self.chain_hash.hex(),
        }
        return with_payload(document, canonical(self.payload)).decode() + "\n"

    def check_body(self, payload: bytes) -> None:
        """Raise `Tampered` unless the body, with this canonical form of its payload, matches its hash."""
        if self.salt is None:
            if self.payload is not None or self.actor is not None:
                raise Tampered(f"event {self.seq} has a body but no salt to check it with")
            return
        body = body_bytes(self.actor, payload, self.source, self.v)
        if body_hash(self.salt, body) != self.body_hash:
            raise Tampered(f"the body of event {self.seq} does not match its hash")

    def _check_chain(self) -> None:
        if self.seq == 0 and self.previous != genesis(self.domain, self.entity_id):
            raise Tampered("event 0 does not follow the genesis of its stream")
        if self.hash_after(self.previous) != self.chain_hash:
            raise Tampered(f"event {self.seq} does not match its chain hash")


def envelope(event: Excerpt) -> dict[str, Any]:
    """Return the event as readers see it; without its salt, nothing that only the body's hash covers.

    Its payload is None: `with_payload` adds it, serialized once and as deep as a body may be.
    """
    entity_id = str(event.entity_id)
    return {
        "seq": event.seq,
        "id": str(event.event_id),
        "kind": event.kind,
        "at": instant_text(event.at_us),
        "v": None if event.erased else event.v,
        "actor": event.actor,
        "entity_id": entity_id,
        "correlation_id": entity_id,
        "_source": None if event.erased else event.source,
        "payload": None,
    }


def with_payload(document: dict[str, Any], payload: bytes) -> bytes:
    """Return the canonical form of a document around this canonical payload.

    No text in it can look like the place of the payload: quotation marks inside a text are escaped.
    """
    before, place, after = canonical(document).partition(_PAYLOAD + b"null" + _SEQ)
    if not place:
        raise NotCanonical("refused: there is no place for a payload; give an event")
    return before + _PAYLOAD + payload + _SEQ + after


def moment(at_us: int) -> datetime:
    """Return a time in UTC, or raise `OverflowError` if it is beyond the calendar."""
    return _EPOCH + timedelta(microseconds=at_us)


def instant_text(at_us: int) -> str:
    """Return a time in UTC as text, to the microsecond."""
    return moment(at_us).isoformat(timespec="microseconds")


def parse_excerpt(text: str | bytes) -> Excerpt:
    """Return what `Excerpt.text` wrote, byte by byte, or raise `Tampered`. No hash is checked yet."""
    try:
        document = _object(parse(text))
        if document.get("form") != FORM:
            raise Tampered(f"not an excerpt: its form is {quoted(str(document.get('form')))}, not {FORM}")
        hashes = (_read(document, name, bytes.fromhex) for name in ("previous_chain_hash", "chain_hash"))
        excerpt = read_event(document, *hashes)
        encoded = excerpt.text()
    except NotCanonical as error:
        raise Tampered(f"not an excerpt: {error}") from None
    if text not in (encoded, encoded.encode()):
        detail = "it has unknown fields, shows what no hash covers, or is not in canonical form"
        raise BadBundle("NON_CANONICAL", f"not an excerpt: {detail}")
    return excerpt


def read_event(document: Mapping[str, Json], previous: bytes, chain_hash: bytes | None = None) -> Excerpt:
    """Return the event in a document, with these chain hashes, or raise `Tampered`.

    Without `chain_hash` it is the one that follows from `previous`.
    """
    event = _object(document.get("event"))
    if event.get("correlation_id") != event.get("entity_id"):
        raise Tampered("not an excerpt: correlation_id is not the entity's own id")
    erased = document.get("salt") is None
    entity_id, event_id = _read(event, "entity_id", UUID), _read(event, "id", UUID)
    seq, kind, at_us = _count(event, "seq"), _read(event, "kind", str), _read(event, "at", _instant)
    body = _read(document, "body_hash", bytes.fromhex)
    return Excerpt(
        domain="" if document.get("domain") is None else _read(document, "domain", str),
        entity_id=entity_id,
        seq=seq,
        event_id=event_id,
        kind=kind,
        v=0 if erased else _count(event, "v"),
        at_us=at_us,
        actor=None if event.get("actor") is None else _read(event, "actor", str),
        source="" if erased else _read(event, "_source", str),
        payload=event.get("payload"),
        salt=None if erased else _read(document, "salt", bytes.fromhex),
        body_hash=body,
        previous=previous,
        chain_hash=chain_hash or step(previous, entity_id, seq, event_id, kind, at_us, body),
    )


def _read(source: Mapping[str, Json], name: str, kind: Callable[[str], Value]) -> Value:
    value = source.get(name)
    try:
        if isinstance(value, str):
            return kind(value)
    except (ValueError, OverflowError):
        pass
    raise Tampered(f"not an excerpt: {name} is {quoted(str(value))}")


def _count(source: Mapping[str, Json], name: str) -> int:
    value = source.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Tampered(f"not an excerpt: {name} is {quoted(str(value))}, not a number")
    return value


def _object(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise Tampered("not an excerpt: it must be a JSON object with an object `event` in it")
    return value


def _instant(text: str) -> int:
    """Return microseconds since 1970, or raise `ValueError` for a time that cannot be judged."""
    at_us = microseconds(datetime.fromisoformat(text))
    if not is_in_calendar(moment(at_us)):
        raise ValueError(text)
    return at_us
