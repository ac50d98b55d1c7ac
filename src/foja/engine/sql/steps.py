"""The numbered steps of the schema: `schema/N_name/*.sql` builds one.

The way back runs its `down.sql`, then drops what the step created, the newest first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from foja.errors import MigrationFailed

DOWN = "down.sql"
_PUBLIC = re.compile(r"^create (?:table|view|function) public\.(\w+)", re.MULTILINE)
# At the beginning of a line, or in a block that asks for the version of PostgreSQL.
_CREATED = re.compile(
    r"^(?:    execute ')?create (table|view|type|domain|function|aggregate|trigger|policy) ([\w.]+)"
    r"(?:.*? (on [\w.]+))?",
    re.MULTILINE,
)
_LABEL = re.compile(r"([1-9]\d*)_([a-z0-9_]+)")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the schema, and the way back."""

    number: int
    name: str
    up: str
    down: str

    @property
    def label(self) -> str:
        """The name of its folder."""
        return f"{self.number}_{self.name}"

    @property
    def digest(self) -> str:
        """What the database remembers of its text."""
        return _digest(self.up)

    @property
    def public_names(self) -> list[str]:
        """The names of the tables, views and functions that it creates in the schema public."""
        return _PUBLIC.findall(self.up)


@lru_cache
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_steps(folder: Traversable | None = None) -> list[Step]:
    """Return the steps of a folder in order, by default the packaged ones, which are read once."""
    return _read_steps(folder) if folder else [*_packaged()]


@cache
def _packaged() -> list[Step]:
    return _read_steps(files("foja.engine.sql") / "schema")


def _read_steps(source: Traversable) -> list[Step]:
    found = [
        _read(entry) for entry in source.iterdir() if entry.is_dir() and not entry.name.startswith((".", "_"))
    ]
    found.sort(key=lambda step: step.number)
    _check_numbers(found)
    return found


def _read(folder: Traversable) -> Step:
    label = _LABEL.fullmatch(folder.name)
    if label is None:
        raise MigrationFailed(f"{folder.name} is not a schema step; name its folder like 7_jobs")
    scripts = {file.name: file for file in folder.iterdir() if file.name.endswith(".sql")}
    down = scripts.pop(DOWN, None)
    if down is None or not scripts:
        raise MigrationFailed(f"the schema step {folder.name} needs SQL files and a {DOWN}; write both")
    up = "\n".join(scripts[name].read_text(encoding="utf-8") for name in sorted(scripts))
    return Step(int(label[1]), label[2], up, down.read_text(encoding="utf-8") + _drops(up))


def _drops(up: str) -> str:
    """Return the statements that drop what a step creates."""
    drops = []
    for kind, name, table in reversed(_CREATED.findall(up)):
        what = "routine" if kind in ("function", "aggregate") else kind
        drops.append(f"drop {what} {name} {table if kind in ('trigger', 'policy') else ''};")
    return "\n".join(drops)


def _check_numbers(steps: Sequence[Step]) -> None:
    for expected, step in enumerate(steps, start=1):
        if step.number != expected:
            raise MigrationFailed(
                f"the schema step {step.label} stands where number {expected} should; "
                "number the steps from 1, each number once, without a gap"
            )
