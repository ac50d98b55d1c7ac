"""Read a long history and print the number of events and the peak memory of this process.

python -m bench.workloads.reader log|stream|fsck URL FOLDER EVENTS ENTITY
"""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import foja
from foja.app import App
from foja.engine.observe.fsck import Outside, fsck


async def read(what: str, url: str, folder: str, events: int, entity: str) -> int:
    """Return the number of events that were read."""
    async with foja.connect(database_url=url, home=Path(folder)) as app:
        if what == "fsck":
            return await _check(app)
        conversation = await app.conversations.open(entity)
        return await _count(app.ledger.log.follow(None) if what == "log" else conversation.follow(), events)


async def _check(app: App) -> int:
    """Run fsck; return half of its rows: one half are events, the other leaves."""
    rows = 0

    def advance(done: int, _total: int) -> None:
        nonlocal rows
        rows = done

    outside = Outside(app.store, [app.signer.verifier()])
    report = await fsck(app.settings.database_url, outside, tiles=True, progress=advance)
    if not report.clean:
        raise RuntimeError(f"fsck found an error: {report.first}")
    return rows // 2


async def _count(found: AsyncIterator[Any], events: int) -> int:
    count = 0
    async with aclosing(found):  # type: ignore[type-var]
        async for _ in found:
            count += 1
            if count == events:
                break
    return count


def peak_memory() -> int:
    """Return the peak memory of this process in kilobytes."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would include the memory of the parent at the fork
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    count = asyncio.run(read(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]))
    print(count, peak_memory())
