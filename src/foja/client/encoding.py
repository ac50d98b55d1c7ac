"""Values as JSON carries them, and the values of the library from JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import EnumType
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from foja.engine.ledger.event import Event, Transient
from foja.pure.core.serializer import serialize
from foja.pure.pages import Rows


def event_from(document: Mapping[str, Any], *, replayed: bool = False) -> Event:
    """Return an event as its envelope has it. Its hash is in its proof, not in its envelope."""
    return Event(
        entity_id=UUID(document["entity_id"]),
        seq=document["seq"],
        id=UUID(document["id"]) if document["id"] else None,
        kind=document["kind"],
        v=document["v"],
        at=datetime.fromisoformat(document["at"]) if document["at"] else None,
        actor=document["actor"],
        source=document["_source"],
        payload=document["payload"],
        body_hash=None,
        cursor=document["cursor"],
        replayed=replayed,
    )


def transient_from(document: Mapping[str, Any]) -> Transient:
    """Return a transient event as its envelope has it."""
    return Transient(
        UUID(document["entity_id"]),
        UUID(document["id"]),
        document["kind"],
        datetime.fromisoformat(document["at"]),
        document["turn"],
        document["block_index"],
        document["event_index"],
        document["payload"],
        document["v"],
    )


VALUES: Mapping[Any, Callable[[Any], Any]] = {
    UUID: UUID,
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    Decimal: Decimal,
    Event: event_from,
    Transient: transient_from,
}


def as_json(value: Any) -> Any:
    """Return an argument as JSON has it: ids and times as texts, bytes in Base64, several as a list.

    A mapping is a payload of the caller, and stays as it is.
    """
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: as_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(each) for each in value]
    return value


def encode(value: Any) -> bytes:
    """Return JSON, or raise `NotCanonical`, as the library does, for what has no JSON form."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        serialize(value)  # it says what and where
        raise


def decode(hint: Any, found: Any) -> Any:
    """Return what the library returns, from its JSON. Fields that this version does not know are left out."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return decode(inner[0], found)
    if origin in (Union, UnionType):
        kinds = [each for each in inner if each is not NoneType]
        return None if found is None else decode(kinds[0], found)
    if origin in (list, tuple) or (origin is not None and isinstance(found, list)):
        items = [decode(inner[0], each) for each in found]
        return tuple(items) if origin is tuple else items
    if hint in VALUES:
        return VALUES[hint](found)
    if is_dataclass(hint) and isinstance(hint, type):
        return _decode_object(hint, found)
    if isinstance(hint, EnumType):  # a newer server may have more
        return next((each for each in list[Any](hint) if each == found), found)
    return found


def _decode_object(kind: type, found: Mapping[str, Any]) -> Any:
    known = _types(kind)
    values = {name: decode(hint, found[name]) for name, hint in known.items() if name != "next"}
    if issubclass(kind, Rows) and "next" in known:
        values["next"] = _start(known["next"], found["next"], kind.by)
    return kind(**values)


def _start(hint: Any, address: str | None, by: str) -> Any:
    """Return what the parameter `by` takes for the page at an address."""
    if address is None:
        return None
    [text] = parse_qs(urlsplit(address).query)[by]
    kinds = get_args(get_args(hint)[0] if get_origin(hint) is Annotated else hint)
    return int(text) if int in kinds else decode(kinds[0], text)


@cache
def _types(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind)}
