"""Hooks of schemathesis: the media type of tus, no made-up keys, and no long waits, also of event streams."""

from __future__ import annotations

import os
from typing import Any

import schemathesis
from schemathesis.core.transport import read_event_stream
from schemathesis.transport import requests as transport

STREAM_SECONDS = 0.3
KEY = "FOJA_TEST_KEY"  # the variable that has it


@schemathesis.serializer("application/offset+octet-stream")
def part_of_upload(ctx: Any, value: Any) -> Any:
    """Send bytes as they are."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@schemathesis.hook
def map_query(ctx: Any, query: Any) -> Any:
    """Do not wait for events that never come."""
    if isinstance(query, dict) and isinstance(query.get("wait"), int | float):
        query["wait"] = min(query["wait"], 0.1)
    return query


@schemathesis.hook
def before_call(ctx: Any, case: Any, kwargs: Any) -> None:
    """Send the key, and no made-up one: it would be refused, and nothing behind that would be tried."""
    others = {name: text for name, text in (case.headers or {}).items() if name.lower() != "authorization"}
    case.headers = {**others, "Authorization": f"Bearer {os.environ[KEY]}"}
    case.cookies = {}


def shortly(chunks: Any, timeout: Any, *limits: Any) -> Any:
    """Read the beginning of an event stream: the timeout of requests, which is long, would be its length."""
    return read_event_stream(chunks, STREAM_SECONDS, *limits)


transport.read_event_stream = shortly  # type: ignore[attr-defined, assignment]
