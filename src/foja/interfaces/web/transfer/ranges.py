"""Ranges of bytes and conditions of a request (RFC 9110). Pure: headers in, a decision out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_RANGE = re.compile(r"bytes=\s*([0-9]{0,18})\s*-\s*([0-9]{0,18})\s*", re.IGNORECASE)


class Span(NamedTuple):
    """Bytes from `start` up to, not including, `stop`."""

    start: int
    stop: int


class Unsatisfiable(Exception):
    """The range begins after the end."""


def requested_span(headers: Mapping[str, str], size: int, etag: str | None) -> Span | None:
    """Return the part that a request asks for, or None if the whole is to be sent.

    More than one range is answered with the whole, which is allowed. Raise `Unsatisfiable` for 416.
    """
    text = headers.get("range")
    if text is None or (headers.get("if-range") not in (None, etag)):
        return None
    found = _RANGE.fullmatch(text)
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:  # the last bytes
        length = min(int(found[2]), size)
        if not length:
            raise Unsatisfiable
        return Span(size - length, size)
    start = int(found[1])
    stop = min(int(found[2]) + 1, size) if found[2] else size
    if found[2] and int(found[2]) < start:
        return None
    if start >= size:
        raise Unsatisfiable
    return Span(start, stop)


def matches(headers: Mapping[str, str], etag: str | None) -> bool:
    """Return whether the client has this version already (If-None-Match)."""
    if etag is None or (given := headers.get("if-none-match")) is None:
        return False
    tags = [each.strip().removeprefix("W/") for each in given.split(",")]
    return "*" in tags or etag in tags
