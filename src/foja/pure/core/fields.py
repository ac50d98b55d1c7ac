"""Check the fields of a value by a table: each has a test, and the words for what it expects."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from foja.errors import Refused

MAX_NAME = 1_024  # bytes of an actor or of a key
SYSTEM_TENANT = "system"  # of the stream of the installation
MAX_TENANT, MAX_TENANT_BYTES = 200, 255  # characters and bytes of the name of a tenant
MAX_SECONDS = 315_576_000  # ten years
MAX_INTEGER = 2**31 - 1


class Rule(NamedTuple):
    """What a field may be."""

    fits: Callable[[Any], bool]
    expected: str


Rules: TypeAlias = Mapping[str, Rule]


def check_fields(value: object, rules: Rules, error: type[Refused]) -> None:
    """Raise `error` if a field of `value` does not fit its rule."""
    for name, (fits, expected) in rules.items():
        if not fits(given := getattr(value, name)):
            raise error(f"{type(value).__name__}.{name} is {reprlib.repr(given)}: expected {expected}")


def check_tenant(name: object, error: type[Refused] = Refused) -> str:
    """Return the name of a tenant, or raise `error` if no tenant can have it."""
    if not (
        isinstance(name, str)
        and name.isprintable()
        and 0 < len(name) <= MAX_TENANT
        and len(name.encode()) <= MAX_TENANT_BYTES
    ):
        raise error(
            f"{name!a:.100} is not a name of a tenant: expected 1 to {MAX_TENANT} printable characters"
        )
    if name == SYSTEM_TENANT:
        raise error(
            f"the tenant `{SYSTEM_TENANT}` is that of the installation's own stream; choose another name"
        )
    return name


def many(given: object) -> list[Any]:
    """Return what was given as a list. A text, bytes or what has no parts is one item."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        return [given]
    return list(given)


def check_limit(limit: int, name: str = "limit") -> None:
    """Raise `Refused` unless this can be the length of a page, or another number of rows or days."""
    rule = whole(0)
    if not rule.fits(limit):
        raise Refused(f"{name} is {limit!r}: expected {rule.expected}")


def text(most: int = MAX_NAME) -> Rule:
    """Return the rule of a text that the database can store, of 1 to `most` bytes."""
    return Rule(lambda value: isinstance(value, str) and _fits(value, most), f"a text of 1 to {most:,} bytes")


def a(kind: type | tuple[type, ...], words: str) -> Rule:
    """Return the rule of an instance."""
    return Rule(lambda value: isinstance(value, kind), words)


def listed(kind: type | tuple[type, ...], words: str) -> Rule:
    """Return the rule of a list or tuple of instances."""
    return Rule(
        lambda value: isinstance(value, list | tuple) and all(isinstance(each, kind) for each in value), words
    )


def whole(low: int, high: int = MAX_INTEGER) -> Rule:
    """Return the rule of a whole number; True is not one."""
    return Rule(
        lambda value: type(value) is int and low <= value <= high, f"a whole number from {low} to {high:,}"
    )


def seconds(low: float = 0, high: float = MAX_SECONDS) -> Rule:
    """Return the rule of a time in seconds; NaN fails every comparison."""
    return Rule(
        lambda value: type(value) in (int, float) and low <= value <= high,
        f"seconds from {low:g} to {high:,.0f}",
    )


def optional(rule: Rule) -> Rule:
    """Return the same rule for a field that may be None."""
    return Rule(lambda value: value is None or rule.fits(value), f"{rule.expected}, or None")


def _fits(value: str, most: int) -> bool:
    try:
        return 0 < len(value) <= most and "\0" not in value and len(value.encode()) <= most
    except UnicodeEncodeError:
        return False
