"""The migrations in their files: `NNNN_name/up.sql` and `down.sql`, without a gap."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from foja.errors import MigrationFailed

_LABEL = re.compile(r"(\d{4})_([a-z0-9_]+)")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema, and the way back."""

    number: int
    name: str
    up: str
    down: str

    @property
    def label(self) -> str:
        """The name of its folder."""
        return f"{self.number:04}_{self.name}"

    @property
    def digest(self) -> str:
        """What the database remembers of its text."""
        return hashlib.sha256(self.up.encode()).hexdigest()


def read_migrations(folder: Traversable | None = None) -> list[Migration]:
    """Return the migrations of a folder in order, by default the packaged ones."""
    source = folder or files("foja.sql") / "migrations"
    found = [
        _read(entry) for entry in source.iterdir() if entry.is_dir() and not entry.name.startswith((".", "_"))
    ]
    found.sort(key=lambda step: step.label)
    _check_numbers(found)
    return found


def _read(folder: Traversable) -> Migration:
    named = _LABEL.fullmatch(folder.name)
    if named is None:
        raise MigrationFailed(f"{folder.name} is not a migration. Name its folder like 0007_add_index.")
    return Migration(int(named[1]), named[2], _text(folder, "up.sql"), _text(folder, "down.sql"))


def _text(folder: Traversable, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise MigrationFailed(
            f"the migration {folder.name} has no {name}. Write it: every step has both."
        ) from error


def _check_numbers(steps: Sequence[Migration]) -> None:
    for expected, step in enumerate(steps, start=1):
        if step.number != expected:
            raise MigrationFailed(
                f"the migration {step.label} stands where number {expected} should. "
                "Number them from 0001, each number once, none left out."
            )
