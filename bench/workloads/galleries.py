"""Ordered inserts of stored objects: 8 writers on 2 galleries."""

from __future__ import annotations

from statistics import median

from bench.contenders.galleries import PYTHON, SEED, SQL, FojaGallery, FojaSqlGallery, SeedGallery
from bench.harness import Bench, Race, Workload, check_counts, entrants, race
from bench.outcome import Outcome, Table, at_least

WRITERS, GALLERIES = 8, 2


async def run(bench: Bench) -> Outcome:
    """Compare ordered inserts from SQL and from Python with the seed's function."""
    workload = Workload(f"{WRITERS} writers on {GALLERIES} galleries", WRITERS)
    async with entrants(bench, [SeedGallery(), FojaSqlGallery(), FojaGallery()], GALLERIES) as entered:
        found = await race(bench, workload, entered)
        counts = await check_counts(entered)
    targets = [
        at_least("ordered inserts from Python", 1.0, found.ratio(PYTHON, SEED), SEED),
        at_least("ordered inserts from SQL", 0.5, found.ratio(SQL, SEED), SEED),
    ]
    return Outcome([_table(found)], targets, {"counts": counts, "rates": found.rates})


def _table(found: Race) -> Table:
    rows = [
        (each.name, f"{median(found.rates[each.name]):,.0f}", f"{found.ratio(each.name, SEED)}", each.note)
        for each in found.contenders
    ]
    return Table(
        f"Ordered inserts, {found.workload.title}", ("", "images/s", "ratio", "what it writes"), rows
    )
