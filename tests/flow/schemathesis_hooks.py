"""Hooks of schemathesis: the media type of tus, and no long waits, also not for the end of event streams."""

from __future__ import annotations

from typing import Any

import schemathesis
from schemathesis.core.transport import read_event_stream
from schemathesis.transport import requests as transport

STREAM_SECONDS = 0.3


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


def shortly(chunks: Any, timeout: Any, *limits: Any) -> Any:
    """Read the beginning of an event stream: the timeout of requests, which is long, would be its length."""
    return read_event_stream(chunks, STREAM_SECONDS, *limits)


transport.read_event_stream = shortly  # type: ignore[attr-defined, assignment]
