"""Answers as JSON: orjson writes them, and Python's own encoder what orjson cannot."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache
from typing import Any

import orjson
from starlette.responses import JSONResponse

from foja.engine.ledger.event import Event, Transient

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class JsonAnswer(JSONResponse):
    """A JSON answer, which no cache keeps. Times are written in ISO 8601, amounts as texts."""

    def __init__(
        self,
        content: Any,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str | None = None,
    ) -> None:
        super().__init__(content, status_code, {**HEADERS, **headers} if headers else HEADERS, media_type)

    def render(self, content: Any) -> bytes:
        """Return the content as JSON."""
        try:
            return orjson.dumps(content, _plain, orjson.OPT_PASSTHROUGH_DATACLASS)
        except TypeError:  # a whole number over 64 bits
            return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=_text).encode()


def describe_event(event: Event) -> dict[str, Any]:
    """Return `event.envelope()` for `JsonAnswer`, which writes ids and times itself, and faster."""
    return {
        "seq": event.seq,
        "id": event.id,
        "kind": event.kind,
        "at": event.at,
        "v": event.v,
        "actor": event.actor,
        "entity_id": event.entity_id,
        "correlation_id": event.entity_id,
        "_source": event.source,
        "payload": event.payload,
        "cursor": event.cursor,
    }


WRITTEN: Mapping[type, Callable[[Any], Any]] = {Event: describe_event, Transient: Transient.envelope}


def _plain(value: Any) -> Any:
    """Return what orjson writes for a value: the fields of a dataclass, a text of anything else."""
    if written := WRITTEN.get(type(value)):
        return written(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: getattr(value, name) for name in _names(type(value))}
    return str(value)


@cache
def _names(kind: type) -> Sequence[str]:
    return [each.name for each in fields(kind)]


def _text(value: Any) -> Any:
    if is_dataclass(value):
        return _plain(value)
    return value.isoformat() if isinstance(value, date) else str(value)
