"""The price of row level security, and of the check of a key.

A query is measured with the role of a request, whose rows the policies filter, and with the
administrator's, to whom no policy applies: in the server, by `explain`, and end to end, as the
driver runs it. End to end the tenant is set in the same transaction, and without the wall it is not.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from statistics import median
from uuid import UUID

import foja
from bench.contenders.connections import query
from bench.contenders.payloads import MESSAGE, message
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Table, Target, at_most, spread
from foja.engine import sql
from foja.engine.driver.database import Connection, Database, connect

ROLE, NO_ROLE = "foja_api", "none"
TENANTS = ("default", "acme", "other")
PAGE = 100
EXPLAIN = "explain (analyze, timing off, format json) "
MAX_QUERY, MAX_END_TO_END, MAX_MICROSECONDS = 1.2, 1.5, 50
CHECKS, MOST_SAMPLES = 1_000, 300
HIGHEST = UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True)
class Read:
    """A query of the API, with the values of one stream."""

    title: str
    name: str
    values: Mapping[str, object]


async def run(bench: Bench, database: BenchDatabase, key: str) -> Outcome:
    """Fill streams of three tenants, read with and without the wall, and check a key."""
    bench.show_status("http · the wall")
    entity = await _fill(database, bench)
    bench.server.vacuum(database)
    tenant = TENANTS[0]
    reads = [
        Read(
            f"a page of {PAGE} events",
            "read_tail",
            {"entity": entity, "tenant": tenant, "after": -1, "limit": PAGE},
        ),
        Read(
            "the newest 20 conversations",
            "recent_conversations",
            {"tenant": tenant, "before": HIGHEST, "limit": 20},
        ),
    ]
    tables, targets, figures = list[Table](), list[Target](), dict[str, object]()
    for read in reads:
        inside = await _in_server(database, read, bench)
        outside = await _end_to_end(database, read, bench)
        tables.append(_table(read, inside, outside))
        targets += _targets(read, inside, outside)
        figures[read.name] = {"server": inside, "end to end": outside}
    checks = await _check_key(database, key, bench.scale.rounds)
    return Outcome(tables, [*targets, _key_target(checks)], {**figures, "key": checks})


async def _fill(database: BenchDatabase, bench: Bench) -> UUID:
    """Append to streams of all tenants in turn; return a stream of the first."""
    streams, entities = min(bench.scale.streams, 200), list[UUID]()
    async with foja.connect(database_url=database.url, home=str(database.folder / "home")) as app:
        for number in range(streams):
            talk = await app.tenant(TENANTS[number % len(TENANTS)]).conversations.open()
            drafts = [talk.draft(MESSAGE.kind, message(n)) for n in range(PAGE + 20)]
            await talk.append_each(drafts)
            entities.append(talk.id)
    return entities[0]


Call = Callable[[], Awaitable[float]]  # one read; it returns its seconds
Medians = list[tuple[float, float]]  # seconds behind the wall and without it, by round


async def _in_server(database: BenchDatabase, read: Read, bench: Bench) -> Medians:
    """Measure the query alone, in the server."""
    async with AsyncExitStack() as closing:
        connections = []
        for role in (ROLE, NO_ROLE):
            connection = await connect(database.url, role)
            closing.push_async_callback(connection.close)
            await connection.execute(query("act_for_session"), {"tenant": TENANTS[0]})
            connections.append(connection)
        behind, without = (_explaining(each, read) for each in connections)
        return await _measure(behind, without, bench)


def _explaining(connection: Connection, read: Read) -> Call:
    async def call() -> float:
        [[plan]] = await (await connection.execute(EXPLAIN + sql.query(read.name), read.values)).fetchall()
        return float(plan[0]["Execution Time"]) / 1000

    return call


async def _end_to_end(database: BenchDatabase, read: Read, bench: Bench) -> Medians:
    """Measure the whole call, from its statement to its rows."""
    walled, free = Database(database.url, ROLE, 1), Database(database.url, NO_ROLE, 1)
    try:
        return await _measure(_calling(walled.of(TENANTS[0]), read), _calling(free, read), bench)
    finally:
        await walled.close()
        await free.close()


def _calling(database: Database, read: Read) -> Call:
    async def call() -> float:
        began = time.perf_counter()
        rows = await database.rows(sql.query(read.name), **read.values)
        if not rows:
            raise RuntimeError(f"{read.title}: nothing was read")
        return time.perf_counter() - began

    return call


async def _measure(behind: Call, without: Call, bench: Bench) -> Medians:
    """Return the median of each, by round; the calls alternate, in random order."""
    found: Medians = []
    for _ in range(bench.scale.rounds):
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(min(bench.scale.samples, MOST_SAMPLES)):
            for side, call in random.sample([(0, behind), (1, without)], 2):
                times[side].append(await call())
        found.append((median(times[0]), median(times[1])))
    return found


async def _check_key(database: BenchDatabase, key: str, rounds: int) -> list[float]:
    """Return the microseconds of the check of a key that was checked before, by round."""
    found: list[float] = []
    async with foja.connect(database_url=database.url, home=str(database.folder / "home")) as app:
        await app.access.open()
        for _ in range(rounds):
            await app.access.bearer(key)
            began = time.perf_counter()
            for _ in range(CHECKS):
                await app.access.bearer(key)
            found.append((time.perf_counter() - began) / CHECKS * 1e6)
            await asyncio.sleep(0.01)  # the monitor, which notices revoked keys, has its turn
    return found


def _ratios(medians: Medians) -> list[float]:
    return [behind / without for behind, without in medians]


def _table(read: Read, inside: Medians, outside: Medians) -> Table:
    rows = [
        (where, *(f"{spread(times).middle * 1e6:,.0f}" for times in zip(*medians, strict=True)))
        for where, medians in (("the query", inside), ("end to end", outside))
    ]
    columns = ("what", "this run, µs with row level security", "this run, µs without")
    return Table(f"Row level security, {read.title}", columns, rows)


def _targets(read: Read, inside: Medians, outside: Medians) -> list[Target]:
    title = f"Row level security, {read.title}"
    return [
        at_most(f"{title}: time of the query", MAX_QUERY, spread(_ratios(inside)).middle),
        at_most(f"{title}: time end to end", MAX_END_TO_END, spread(_ratios(outside)).middle),
    ]


def _key_target(checks: list[float]) -> Target:
    taken = spread(checks).middle
    limit = f"≤ {MAX_MICROSECONDS} µs"
    return Target(
        "Check of a key after the first", limit, f"{taken:.1f} µs", passed=taken <= MAX_MICROSECONDS
    )
