"""The types of command-line values; each raises `ArgumentTypeError` if a value is not valid."""

from __future__ import annotations

from argparse import ArgumentTypeError
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


def natural(text: str) -> int:
    """Return an integer of at least 0."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not valid: expected an integer of at least 0")
    return int(text)


def positive(text: str) -> int:
    """Return an integer of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not valid: expected an integer of at least 1")
    return int(text)


def port(text: str) -> int:
    """Return a port; 0 means any free one."""
    if not text.isdecimal() or int(text) > 65_535:
        raise ArgumentTypeError(f"{text!r} is not valid: expected a port from 0 to 65535")
    return int(text)


def seconds(text: str) -> float:
    """Return a duration of at most an hour."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 3600:
        raise ArgumentTypeError(f"{text!r} is not valid: expected seconds, more than 0 and at most 3600")
    return value
