"""The types of command-line values; a value that is not valid raises `ArgumentTypeError` or `BadPayload`."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import UTC, datetime
from math import nan
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

from foja.pure.models.access.key import parse_duration, parse_end
from foja.pure.models.access.principal import Scope
from foja.pure.models.images.address import has_other_form

_CURSOR = re.compile(r"[^\s:]+(:-?\d{1,19}){1,2}")
MAX_OVERLAP_HOURS = 720
RUNNING = "running"  # the word of `--yes` for a database that processes use


def path(text: str) -> Path:
    """Return an absolute path."""
    return Path(text).expanduser().absolute()


def any_text(text: str) -> str:
    """Return a text that may be empty; every other argument refuses that."""
    return text


def id_or(word: str) -> Callable[[str], UUID | None]:
    """Return the type of ids, where a word stands for none."""

    def parse(text: str) -> UUID | None:
        try:
            return None if text == word else UUID(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not valid: expected a UUID or `{word}`") from None

    return parse


def cursor(text: str) -> str | int:
    """Return the number of an event, or a cursor as text."""
    if text.removeprefix("-").isdecimal():
        return int(text)
    if not _CURSOR.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} is not a cursor: expected a number, or the `cursor` of an event")
    return text


def integer(low: int, high: int) -> Callable[[str], int]:
    """Return the type of integers from `low` up to `high`."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise ArgumentTypeError(f"{text!r} is not valid: expected an integer from {low} to {high:,}")
        return int(text)

    return parse


natural, number = integer(0, 2**63 - 1), integer(1, 2**63 - 1)
positive, port = integer(1, 2**31 - 1), integer(0, 65_535)


def seconds(text: str) -> float:
    """Return a duration of at most an hour."""
    value = _float(text)
    if not 0 < value <= 3600:
        raise ArgumentTypeError(f"{text!r} is not valid: expected seconds, more than 0 and at most 3600")
    return value


def _float(text: str) -> float:
    """Return a number, or NaN, which is in no range."""
    try:
        return float(text)
    except ValueError:
        return nan


def moment(text: str) -> datetime:
    """Return a time; one without a time zone is in UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a time: expected 2026-01-31T12:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def hours(text: str) -> float:
    """Return for how many seconds an old secret is used as well, given in hours."""
    value = _float(text)
    if not 0 <= value <= MAX_OVERLAP_HOURS:
        raise ArgumentTypeError(f"{text!r} is not valid: expected hours, from 0 to {MAX_OVERLAP_HOURS}")
    return value * 3600


def names_of(*known: str) -> Callable[[str], list[str]]:
    """Return the type of lists of these names, separated by commas."""

    def parse(text: str) -> list[str]:
        found = [name.strip() for name in text.split(",")]
        if unknown := [name for name in found if name not in known]:
            raise ArgumentTypeError(f"{unknown[0]!r} is not valid: expected {', '.join(known)}")
        return found

    return parse


def digest(text: str) -> str:
    """Return the digest of an object."""
    from foja.pure.core.registry import check_digest

    return check_digest(text)


def place_or_id(text: str) -> str:
    """Return the place of an image in a gallery, or its id."""
    try:
        return str(natural(text) if text.isdecimal() else UUID(text))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not an image: expected a UUID, or a place from 0 on") from None


def elsewhere(text: str) -> str:
    """Return the address of an image that is stored elsewhere."""
    if not text or has_other_form(text):
        raise ArgumentTypeError(f"{text!r} is not valid: expected an https:// address, or a path")
    return text


def web_address(text: str) -> str:
    """Return an address that begins with https:// or http:// and names a host."""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("https", "http") and bool(parts.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise ArgumentTypeError(f"{text!r} is not an address: expected https://host/path")
    return text


def kinds(text: str) -> str:
    """Return a kind, or the beginning of kinds and a star."""
    from foja.pure.models.webhooks.rules import check_kinds

    return check_kinds([text])[0]


def scopes(text: str) -> list[Scope]:
    """Return scopes that are separated by commas."""
    names = [name for name in text.replace(",", " ").split() if name]
    if unknown := [name for name in names if name not in set(Scope)] or ([] if names else [text]):
        raise ArgumentTypeError(f"{unknown[0]!r} is not a scope: expected {', '.join(Scope)}")
    return [Scope(name) for name in dict.fromkeys(names)]


def duration(text: str) -> float:
    """Return the seconds of a duration such as `90d`, `12h`, `30m` or `45s`."""
    return parse_duration(text).total_seconds()


def expiry(text: str) -> str:
    """Return when something expires: a time that has not passed, a duration from now, or `never`."""
    now = datetime.now(UTC)
    found = parse_end(text, now)
    if found and found <= now:
        raise ArgumentTypeError(f"{text!r} has passed: expected a later time")
    return text


def key_name(text: str) -> str:
    """Return a text that can be the name in a key."""
    if not text or "+" in text or not text.isprintable() or any(each.isspace() for each in text):
        raise ArgumentTypeError(f"{text!r} cannot name a key: expected text without spaces or '+'")
    return text
