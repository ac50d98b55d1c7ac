"""The scan for orphans: time per object and memory, by the number of rows and by the number of files."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from psycopg import AsyncConnection

import foja
from bench.contenders.connections import query
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Table, Target, at_most, spread

MAX_COST, MAX_MEMORY = 1.3, 1.1
OLD = 1_700_000_000.0  # in 2023: no file is so young that its row may be on its way
What = Literal["rows", "files"]
NAMES: dict[What, str] = {
    "rows": "rows and references, in a store that has every object",
    "files": "rows, references and files on disk",
}


@dataclass
class Scans:
    """What the scans of so many objects needed: microseconds per object, and kilobytes at the peak."""

    objects: int
    cost: list[float] = field(default_factory=list)
    peak: int = 0

    @property
    def middle(self) -> float:
        """The median cost of an object."""
        return spread(self.cost).middle


async def run(bench: Bench) -> Outcome:
    """Scan few objects, then many: with rows alone, then with files."""
    few, rows, files = bench.scale.scanned
    found: dict[What, tuple[Scans, Scans]] = {
        "rows": await _compare(bench, "rows", few, rows),
        "files": await _compare(bench, "files", few, files),
    }
    figures: dict[str, Any] = {
        what: {each.objects: vars(each) for each in pair} for what, pair in found.items()
    }
    tables = [_table(found)]
    return Outcome(tables, [each for what, pair in found.items() for each in _targets(what, *pair)], figures)


async def _compare(bench: Bench, what: What, few: int, many: int) -> tuple[Scans, Scans]:
    """Scan a database with few objects, add the rest to it, and scan it again."""
    with bench.server.create_database() as database:
        home = database.folder / "home"
        async with foja.connect(database_url=database.url, home=home):
            pair = []  # connecting creates the schema
        for first, last in ((1, few), (few + 1, many)):
            bench.show_status(f"hygiene · loading {last:,} objects")
            await _load(database, first, last)
            if what == "files":
                await asyncio.to_thread(_write, home / "store", first, last)
            bench.server.vacuum(database)
            pair.append(await _scan(bench, what, database, last))
    return pair[0], pair[1]


async def _load(database: BenchDatabase, first: int, last: int) -> None:
    async with await AsyncConnection.connect(database.url, autocommit=True) as connection:
        await connection.execute(query("load_quietly"))
        for name in ("load_scanned_objects", "load_scanned_references"):
            await connection.execute(query(name), {"first": first, "last": last})


def _write(root: Path, first: int, last: int) -> None:
    """Write the files of these objects, old ones of one byte each: a scan reads none of them."""
    for number in range(first, last + 1):
        folder = root / "objects" / hashlib.sha256(str(number).encode()).hexdigest()
        folder.mkdir(parents=True)
        (folder / "0").write_bytes(b"x")
        os.utime(folder / "0", (OLD, OLD))


async def _scan(bench: Bench, what: What, database: BenchDatabase, objects: int) -> Scans:
    """Scan in a process of its own; raise if it looked at another number of objects."""
    bench.show_status(f"hygiene · scanning {objects:,} objects")
    arguments = (what, database.url, str(database.folder), str(bench.scale.rounds))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.workloads.scanner", *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("the scan failed; see its error above")
    found = json.loads(out)
    if found["checked"] != objects:
        raise RuntimeError(f"the scan looked at {found['checked']} of {objects} objects")
    return Scans(objects, [each / objects * 1e6 for each in found["seconds"]], found["peak"])


def _table(found: dict[What, tuple[Scans, Scans]]) -> Table:
    rows = [
        (
            NAMES[what],
            f"{few.objects:,} → {many.objects:,}",
            f"{many.middle / few.middle:.2f}",
            f"{many.peak / few.peak:.2f}",
            f"{few.middle:.0f} → {many.middle:.0f}",
            f"{few.peak / 1024:.0f} → {many.peak / 1024:.0f}",
        )
        for what, (few, many) in found.items()
    ]
    columns = ("scan of", "objects", "cost per object", "memory", "this run: µs per object", "this run: MiB")
    return Table("A scan for orphans, by the number of objects", columns, rows)


def _targets(what: What, few: Scans, many: Scans) -> list[Target]:
    about = f"scan of {many.objects:,} objects compared with {few.objects:,}, {what}"
    return [
        at_most(f"Cost per object, {about}", MAX_COST, many.middle / few.middle),
        at_most(f"Memory, {about}", MAX_MEMORY, many.peak / few.peak),
    ]
