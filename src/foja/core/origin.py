"""The origin lines of a log: its name, and the names of its restarts.

A log is called NAME. Each restart opens another log under `NAME/NUMBER/SIZE-ROOT`: the number of the log, and
the head of the newest log before it that has entries. So each checkpoint of it names the old head.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FIRST = 1
_RESTART = re.compile("([2-9]|[1-9][0-9]{1,8})/(0|[1-9][0-9]{0,18})-([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Restart:
    """What the origin line of a restarted log says: its number, and the head of the log before it."""

    number: int
    size: int
    root: bytes


def restart_of(name: str, origin: str) -> Restart | None:
    """Return what this origin line says as the restart of the log of this name; None for any other."""
    found = _RESTART.fullmatch(origin.removeprefix(f"{name}/")) if origin.startswith(f"{name}/") else None
    return Restart(int(found[1]), int(found[2]), bytes.fromhex(found[3])) if found else None


def number_of(name: str, origin: str) -> int | None:
    """Return the number of a log of this name: 1, or that of a restart; None for any other log.

    `NAME/1` is the first log too: so the first bundles call it.
    """
    if origin in (name, f"{name}/{FIRST}"):
        return FIRST
    restart = restart_of(name, origin)
    return restart.number if restart else None
