"""One event with everything needed to check it offline: body to hash, hash to chain, chain to leaf.

Together with the proof that its leaf is in the log, it is evidence that needs no database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from foja.core.canonical import Json, canonical, parse
from foja.core.chain import genesis, leaf_entry, step
from foja.core.event import body_bytes, body_hash, microseconds
from foja.errors import NotCanonical, Tampered

FORM = "foja/excerpt/v1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """An event as it was recorded; `salt` is None if its body was erased."""

    domain: str
    entity_id: UUID
    seq: int
    event_id: UUID
    kind: str
    v: int
    at_us: int
    actor: str | None
    source: str
    payload: Json
    salt: bytes | None
    body_hash: bytes
    previous: bytes
    chain_hash: bytes

    @property
    def erased(self) -> bool:
        """Whether the body was erased."""
        return self.salt is None

    def check(self) -> bytes:
        """Return the log's entry, derived from this event alone, or raise `Tampered`."""
        try:
            self._check_body()
            self._check_chain()
            return leaf_entry(self.entity_id, self.seq, self.chain_hash)
        except NotCanonical as error:
            raise Tampered(f"event {self.seq} cannot have been recorded ({error})") from None

    def text(self) -> str:
        """Return the excerpt as it is written to a file."""
        return json.dumps(self._document(), ensure_ascii=False, indent=2) + "\n"

    def _check_body(self) -> None:
        if self.salt is None:
            if self.payload is not None or self.actor is not None:
                raise Tampered(f"event {self.seq} has a body but no salt to check it with")
            return
        body = body_bytes(self.actor, canonical(self.payload), self.source, self.v)
        if body_hash(self.salt, body) != self.body_hash:
            raise Tampered(f"the body of event {self.seq} does not match its hash")

    def _check_chain(self) -> None:
        if self.seq == 0 and self.previous != genesis(self.domain, self.entity_id):
            raise Tampered("event 0 does not follow the genesis of its stream")
        fields = (self.entity_id, self.seq, self.event_id, self.kind, self.at_us, self.body_hash)
        if step(self.previous, *fields) != self.chain_hash:
            raise Tampered(f"event {self.seq} does not match its chain hash")

    def _document(self) -> dict[str, Any]:
        return {
            "form": FORM,
            "domain": self.domain,
            "event": envelope(self),
            "salt": None if self.salt is None else self.salt.hex(),
            "body_hash": self.body_hash.hex(),
            "previous_chain_hash": self.previous.hex(),
            "chain_hash": self.chain_hash.hex(),
        }


def envelope(event: Excerpt) -> dict[str, Any]:
    """Return the event as readers see it, without the fields that only checking needs."""
    return {
        "seq": event.seq,
        "id": str(event.event_id),
        "kind": event.kind,
        "at": instant_text(event.at_us),
        "v": event.v,
        "actor": event.actor,
        "entity_id": str(event.entity_id),
        "correlation_id": str(event.entity_id),
        "_source": event.source,
        "payload": event.payload,
    }


def moment(at_us: int) -> datetime:
    """Return a time in UTC, or raise `OverflowError` if it is beyond the calendar."""
    return _EPOCH + timedelta(microseconds=at_us)


def instant_text(at_us: int) -> str:
    """Return a time in UTC as text, to the microsecond."""
    return moment(at_us).isoformat(timespec="microseconds")


def parse_excerpt(text: str | bytes) -> Excerpt:
    """Return what `Excerpt.text` wrote, or raise `Tampered`. Nothing is checked yet."""
    try:
        document = _object(parse(text))
        if document.get("form") != FORM:
            raise Tampered(f"not an excerpt: its form is {document.get('form')!r}, not {FORM}")
        previous = _read(document, "previous_chain_hash", bytes.fromhex)
        return read_event(document, previous, _read(document, "chain_hash", bytes.fromhex))
    except NotCanonical as error:
        raise Tampered(f"not an excerpt: {error}") from None


def read_event(document: Mapping[str, Json], previous: bytes, chain_hash: bytes) -> Excerpt:
    """Return the event in a document, with these chain hashes, or raise `Tampered`."""
    event = _object(document.get("event"))
    if event.get("correlation_id") != event.get("entity_id"):
        raise Tampered("not an excerpt: correlation_id is not the entity's own id")
    erased = document.get("salt") is None
    return Excerpt(
        domain=_read(document, "domain", str),
        entity_id=_read(event, "entity_id", UUID),
        seq=_count(event, "seq"),
        event_id=_read(event, "id", UUID),
        kind=_read(event, "kind", str),
        v=_count(event, "v"),
        at_us=_read(event, "at", _instant),
        actor=None if event.get("actor") is None else _read(event, "actor", str),
        source=_read(event, "_source", str),
        payload=event.get("payload"),
        salt=None if erased else _read(document, "salt", bytes.fromhex),
        body_hash=_read(document, "body_hash", bytes.fromhex),
        previous=previous,
        chain_hash=chain_hash,
    )


def _read(source: Mapping[str, Json], name: str, kind: Callable[[str], Value]) -> Value:
    value = source.get(name)
    try:
        if isinstance(value, str):
            return kind(value)
    except (ValueError, OverflowError):
        pass
    raise Tampered(f"not an excerpt: {name} is {value!r}")


def _count(source: Mapping[str, Json], name: str) -> int:
    value = source.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Tampered(f"not an excerpt: {name} is {value!r}, not a number")
    return value


def _object(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise Tampered("not an excerpt: it must be a JSON object with an object `event` in it")
    return value


def _instant(text: str) -> int:
    """Return microseconds since 1970, or raise `OverflowError` if `instant_text` cannot write them."""
    at_us = microseconds(datetime.fromisoformat(text))
    instant_text(at_us)
    return at_us
