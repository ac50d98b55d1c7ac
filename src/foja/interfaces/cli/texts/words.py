"""Amounts, remarks and findings of networks, as people read them. JSON has the values as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from foja.interfaces.cli.output import shorten

WEI = Decimal(10) ** 18  # of one POL
_HASH = re.compile(r"0x([0-9a-f]{8})[0-9a-f]{32,}")


def amount(network: str, value: int | Decimal) -> str:
    """Return an amount of a network's smallest unit, with its unit; nothing is paid where there is none."""
    if network != "polygon":
        return "-"
    return f"{value / WEI:.6f} POL"


def remark(text: str | None, width: int) -> str:
    """Return a remark on one line; long hashes are cut, so that its words are seen."""
    return shorten(" ".join(_HASH.sub(r"0x\1…", text or "").split()), width)


def found(values: Mapping[str, object]) -> str:
    """Return what a check of a network found: `name value, name value`; empty ones are left out."""
    shown = {name: _words(value) for name, value in values.items()}
    return ", ".join(f"{name.replace('_', ' ')} {words}" for name, words in shown.items() if words)


def _words(value: object) -> str:
    if isinstance(value, Mapping):
        return " and ".join(f"{name} ({_words(each)})" for name, each in value.items())
    if isinstance(value, list | tuple):
        return " and ".join(map(_words, value))
    return str(value)
