"""Scan for orphans; print how many objects were looked at, the seconds of each scan and the peak memory.

python -m bench.workloads.scanner rows|files URL FOLDER SCANS

The first scan stages what nothing refers to and is not timed: the ones after it find what a daily scan finds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import cast

import foja
from bench.workloads.reader import peak_memory
from foja.domains.system.orphans.scan import Scanner
from foja.engine.blobs.entries import Listed
from foja.engine.blobs.store import ObjectBackend, Store


@dataclass(frozen=True, slots=True)
class EverythingThere:
    """A store that has every object and lists none, so that only the rows are measured."""

    async def present(self, keys: Collection[str]) -> set[str]:
        """Return all of these keys."""
        return set(keys)

    async def list(self, prefix: str, after: str | None = None) -> AsyncIterator[Sequence[Listed]]:
        """Yield nothing."""
        for page in list[Sequence[Listed]]():
            yield page

    async def forget_partial(self, before: datetime) -> None:
        """Do nothing: there are no files."""


async def scan(what: str, url: str, folder: str, scans: int) -> tuple[int, list[float]]:
    """Return how many objects one scan looked at, and the seconds of each scan after the first."""
    seconds, checked = [], 0
    async with foja.connect(database_url=url, home=Path(folder) / "home") as app:
        scanner: Scanner = app.orphans.scanner
        if what == "rows":
            scanner = replace(scanner, store=Store(cast(ObjectBackend, EverythingThere())))
        for _ in range(scans + 1):
            began = time.perf_counter()
            result = await scanner.scan()
            seconds.append(time.perf_counter() - began)
            if result.outcome != "complete" or result.missing or result.strays:
                raise RuntimeError(f"the scan did not go well: {result}")
            checked = result.checked
    return checked, seconds[1:]


if __name__ == "__main__":
    checked, seconds = asyncio.run(scan(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
    print(json.dumps({"checked": checked, "seconds": seconds, "peak": peak_memory()}))
