"""The logs of an installation and their states."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from foja.engine.driver.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class LogState:
    """One log: its size, its published size, and whether it is closed or halted."""

    origin: int
    name: str
    size: int
    closed_size: int | None
    halted: str | None
    published: int | None
    waiting: int

    @property
    def proven(self) -> int:
        """The number of valid leaves: those above the size of a closed log were never proven."""
        return self.size if self.closed_size is None else self.closed_size

    def path(self, name: str) -> str:
        """Return the key of one of this log's files in the store."""
        return f"log/{self.origin}/{name}"

    def document(self) -> dict[str, Any]:
        """Return the log as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CosignerState:
    """A cosigner of a log: the largest size that it signed, and its fault, if it has one."""

    origin: int
    key: str
    cosigned: int
    fault: str | None
    detail: str | None
    since: datetime

    def document(self) -> dict[str, Any]:
        """Return the cosigner as a JSON object."""
        return {name: value for name, value in asdict(self).items() if name != "origin"}


async def read_cosigners(moment: Snapshot) -> list[CosignerState]:
    """Return every cosigner of every log that was ever asked."""
    return [each async for each in moment.rows("cosigners", CosignerState)]


async def read_logs(moment: Snapshot) -> list[LogState]:
    """Return every log, oldest first; the last one is open."""
    return [each async for each in moment.rows("logs", LogState)]
