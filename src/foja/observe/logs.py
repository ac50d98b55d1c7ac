"""The logs of an installation, as they stand."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from foja.observe.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class LogState:
    """One log: how long it is, how far the world has seen it, whether it goes on."""

    origin: int
    name: str
    size: int
    closed_size: int | None
    halted: str | None
    published: int | None
    waiting: int

    @property
    def proven(self) -> int:
        """How many leaves count: those above a closed log's size were never proven."""
        return self.size if self.closed_size is None else self.closed_size

    def path(self, name: str) -> str:
        """Return where one of this log's files lies in the store."""
        return f"log/{self.origin}/{name}"

    def document(self) -> dict[str, Any]:
        """Return the log as JSON carries it."""
        return asdict(self)


async def read_logs(moment: Snapshot) -> list[LogState]:
    """Return every log, oldest first; the last one is open."""
    return [LogState(*row) async for row in moment.rows("logs")]
