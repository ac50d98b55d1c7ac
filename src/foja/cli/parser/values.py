"""What a word on the command line may stand for; anything else is refused."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from uuid import UUID


def path(word: str) -> Path:
    """Return a place on disk, wherever the command is run from."""
    return Path(word).expanduser().absolute()


def stream(word: str) -> UUID | None:
    """Return a stream's id, or None for the whole log."""
    try:
        return None if word == "log" else UUID(word)
    except ValueError:
        raise ArgumentTypeError(f"{word!r} is neither a stream's id nor `log`") from None


def cursor(word: str) -> str | int:
    """Return a number of a stream, or a cursor as it was given out."""
    return int(word) if word.removeprefix("-").isdecimal() else word


def natural(word: str) -> int:
    """Return a number from 0 on."""
    if not word.isdecimal():
        raise ArgumentTypeError(f"{word!r} is not a number from 0 on")
    return int(word)


def positive(word: str) -> int:
    """Return a number from 1 on."""
    if not word.isdecimal() or int(word) == 0:
        raise ArgumentTypeError(f"{word!r} is not a number from 1 on")
    return int(word)


def port(word: str) -> int:
    """Return a port; 0 is any that is free."""
    if not word.isdecimal() or int(word) > 65_535:
        raise ArgumentTypeError(f"{word!r} is not a port, 0 to 65535")
    return int(word)


def seconds(word: str) -> float:
    """Return a time of at most an hour."""
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value <= 3600:
        raise ArgumentTypeError(f"{word!r} is not a time in seconds, up to 3600")
    return value
