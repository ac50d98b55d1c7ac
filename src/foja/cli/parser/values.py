"""The types of command-line values; each raises `ArgumentTypeError` if a value is not valid."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID


def path(text: str) -> Path:
    """Return an absolute path."""
    return Path(text).expanduser().absolute()


def stream(text: str) -> UUID | None:
    """Return the id of a stream, or None for the whole log."""
    try:
        return None if text == "log" else UUID(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not valid: expected a UUID or `log`") from None


def cursor(text: str) -> str | int:
    """Return the number of an event, or a cursor as text."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def integer(low: int, high: int | None = None) -> Callable[[str], int]:
    """Return the type of integers from `low` up to `high`, or without an end."""
    expected = f"of at least {low}" if high is None else f"from {low} to {high:,}"

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < low or (high is not None and int(text) > high):
            raise ArgumentTypeError(f"{text!r} is not valid: expected an integer {expected}")
        return int(text)

    return parse


natural, positive, port = integer(0), integer(1), integer(0, 65_535)


def seconds(text: str) -> float:
    """Return a duration of at most an hour."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 3600:
        raise ArgumentTypeError(f"{text!r} is not valid: expected seconds, more than 0 and at most 3600")
    return value


def moment(text: str) -> datetime:
    """Return a time; one without a time zone is in UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a time: expected 2026-01-31T12:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
