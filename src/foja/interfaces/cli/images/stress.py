"""`foja stress images`: many writers on few galleries in a temporary database, and every invariant checked.

This is the test that seed 003 left pending: 10 calls at once give 0 to 9, and no change leaves a gap.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from argparse import Namespace
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from foja.app import App
from foja.domains.images.gallery import Gallery
from foja.engine import sql
from foja.engine.embedded.servers import database
from foja.engine.ledger.event import new_id
from foja.engine.observe.audit import audit
from foja.errors import BadPlace, FojaError, UnknownImage, WrongExpectedSeq
from foja.interfaces.cli.images import recording
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.cli.output import print_result, progress_bar, table
from foja.interfaces.cli.server.temporary_database import temporary_database

ROUNDS, CALLS = 20, 10  # of the seed's own test
MOST = 40  # images of a gallery; above it, writers remove
CONFLICTS = (BadPlace, UnknownImage, WrongExpectedSeq)  # another writer was first
VERBS = ("add", "add", "add", "move", "move", "drag", "main", "remove", "describe")


class Change(NamedTuple):
    """When a change ended, and how long it took; in seconds since the first one began."""

    ended: float
    took: float
    refused: bool  # or it failed


@dataclass(slots=True)
class StressReport:
    """What was done, how long it took, and what was found afterwards."""

    writers: int
    products: int
    seconds: float = 0.0
    done: Counter[str] = field(default_factory=Counter)
    conflicts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)  # neither done nor a conflict
    times: list[Change] = field(default_factory=list, repr=False)
    seed_rounds: int = 0  # rounds of 10 calls from SQL that gave 0 to 9
    faults: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is broken."""
        return not self.faults and not self.errors

    def document(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        named = ("writers", "products", "seconds", "done", "conflicts", "errors", "seed_rounds", "faults")
        return {"passed": self.passed, **{name: getattr(self, name) for name in named}, **self.speed()}

    def speed(self) -> dict[str, float]:
        """Return the rate and the latencies of the changes."""
        times = sorted(each.took for each in self.times) or [0.0]
        rate = len(self.times) / (self.seconds or 1.0)
        parts = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99}
        shares = {name: round(times[len(times) * part // 100] * 1000, 2) for name, part in parts.items()}
        return {"changes_per_second": round(rate, 1), **shares}


async def images(arguments: Namespace) -> int:
    """Run the load, check the invariants and print the report; 1 if one is broken."""
    settings = read_settings(arguments)
    report = StressReport(arguments.writers, arguments.products)
    with tempfile.TemporaryDirectory(prefix="foja-stress-") as home:
        async with database(settings) as url, temporary_database(url) as temporary_url:
            changed = {"database_url": temporary_url, "home": Path(home), "storage_url": ""}
            async with App(settings.model_copy(update=changed)) as app:
                await _call_from_sql(app, report)
                await _change(app, report, arguments.seconds)
                await app.publish()
                await _check(app, report)
    lines = _lines(report)
    if arguments.write:
        recording.write(arguments.write, arguments.seconds, report, lines)
    print_result(arguments, report.document(), *lines)
    return 0 if report.passed else 1


async def _call_from_sql(app: App, report: StressReport) -> None:
    """Run the seed's own test: 10 calls at once on a new product, some rounds."""
    insert, database = sql.query("insert_image_with_order"), app.database.of(app.ledger.tenant)
    for _ in range(ROUNDS):
        product = new_id()
        await app.ledger.ask("create_product", product=product, supplier=None)
        calls = (database.rows(insert, product=product, url=f"https://cdn.example/{n}") for n in range(CALLS))
        rows = await asyncio.gather(*calls)
        places = sorted(place for [(place,)] in rows)
        if places == list(range(CALLS)):
            report.seed_rounds += 1
        else:
            report.faults.append(f"{CALLS} calls of insert_image_with_order gave {places}")


async def _change(app: App, report: StressReport, seconds: float) -> None:
    clock = asyncio.get_running_loop().time
    galleries = [await app.images.open() for _ in range(report.products)]
    for gallery in galleries:
        await gallery.add_url("https://cdn.example/first")
    began = clock()

    async def write(number: int, progress: Any) -> None:
        choice = random.Random(number)
        while (start := clock()) < began + seconds:
            done = await _change_once(choice, galleries[number % len(galleries)], report)
            report.times.append(Change(clock() - began, clock() - start, not done))
            if progress and not number:
                progress(int(clock() - began), int(seconds))

    with progress_bar("changing galleries") as progress:
        await asyncio.gather(*(write(number, progress) for number in range(report.writers)))
    report.seconds = round(clock() - began, 3)


async def _change_once(choice: random.Random, gallery: Gallery, report: StressReport) -> bool:
    """Change a gallery; return whether it was done."""
    verb = choice.choice(VERBS)
    try:
        view = await gallery.list()
        verb = "remove" if len(view) > MOST else verb if len(view) > 1 else "add"
        image, to = choice.choice(view).id if view else new_id(), choice.randrange(len(view) or 1)
        match verb:
            case "move":
                await gallery.move(image, to=to)
            case "drag":
                await gallery.move(image, to=to, expected_seq=view.next_seq)
            case "main":
                await gallery.main(image)
            case "remove":
                await gallery.remove(image)
            case "describe":
                await gallery.describe(image, f"text {to}")
            case _:
                await gallery.add_url(f"https://cdn.example/{to}")
        report.done[verb] += 1
        return True
    except CONFLICTS as error:
        report.conflicts[error.code] += 1
    except FojaError as error:
        report.errors[f"{verb}: {error.code}: {error}"] += 1
    return False


async def _check(app: App, report: StressReport) -> None:
    for product, images, first, last, places in await app.reader.rows(sql.query("gallery_faults")):
        report.faults.append(f"{product} has {images} images at {places} places from {first} to {last}")
    found = await audit(app.settings.database_url, max_lag_seconds=app.settings.max_lag_seconds)
    report.faults += map(str, found.findings)


def _lines(report: StressReport) -> list[str]:
    rows = [(verb, count) for verb, count in sorted(report.done.items())]
    speed = ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in report.speed().items())
    return [
        f"insert_image_with_order: {report.seed_rounds} of {ROUNDS} rounds of {CALLS} calls are gapless",
        f"{report.writers} writers on {report.products} products for {report.seconds:.1f} s: {speed}",
        *table(("change", "done"), rows),
        *(f"conflict {code}: {count:,}" for code, count in sorted(report.conflicts.items())),
        *(f"error {text}: {count:,}" for text, count in sorted(report.errors.items())),
        *(f"broken: {fault}" for fault in report.faults),
        "passed: every gallery is 0 to n-1 with one main image" if report.passed else "failed",
    ]
