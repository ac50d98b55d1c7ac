"""Times, spans, sizes and numbers as people read them, in each language."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from foja.pure.judge.render.words import say_time

_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))


def moment(at: datetime, language: str, *, seconds: bool = False) -> str:
    """Return a time in UTC as reports write it: `17 November 2026, 11:20 UTC`."""
    return say_time(at, language, seconds=seconds)


def span(length: timedelta | float) -> str:
    """Return a length of time in its largest unit: `3 d`, `4 h`, `12 min`, `5 s`, `20 ms`."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else float(length)
    for unit, name in _UNITS:
        if seconds >= unit:
            return f"{seconds // unit:.0f} {name}"
    return f"{max(seconds, 0) * 1000:.0f} ms" if seconds < 1 else f"{seconds:.0f} s"


def size(count: int) -> str:
    """Return a number of bytes: `20 B`, `1.5 MB`."""
    amount = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError("unreachable")


def number(value: float | Decimal, language: str) -> str:
    """Return a number with its thousands apart, and at most three decimal places."""
    text = f"{value:,.3f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"
    return text if language == "en" else text.translate(str.maketrans(",.", ".,"))
