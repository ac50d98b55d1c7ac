"""The time that the server needs for each list page, with few and with many rows of everything."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import httpx
from psycopg import AsyncConnection

import foja
from bench.contenders.connections import query
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, spread
from bench.servers.http import foja_server

MAX_RATIO = 2.0
WARM = 8  # a plan made for one call may become a plan for all calls after the fifth
REPEATED = 20  # requests of each page, in a round
PAGES = (
    "/",
    "/documents",
    "/documents?before={middle}",
    "/documents?state=final",
    "/documents?state=none",
    "/documents?state=given_up",
    "/documents?state=given_up&before={middle}",
    "/documents?q=contract",
    "/documents?q={digest}",
    "/conversations",
    "/galleries",
    "/jobs",
    "/jobs?state=succeeded",
    "/jobs?state=dead",
    "/jobs?state=queued",
    "/jobs?type=renew_artifacts",
    "/jobs?type=renew_artifacts&state=succeeded",
    "/jobs?type=renew_artifacts&state=dead",
    "/jobs?entity={middle}",
    "/anchors",
    "/hygiene",
    "/ledger",
    "/alerts",
    "/access",
)
LOADS = (
    "load_document_streams",
    "load_document_events",
    "load_documents",
    "load_summaries",
    "load_attempts",
    "load_words",
    "load_conversation_streams",
    "load_messages",
    "load_jobs",
    "load_products",
    "load_images",
    "load_objects",
    "load_references",
    "load_candidates",
    "load_closed_log",
    "load_checkpoints",
)


@dataclass
class Side:
    """One server with so many rows of everything, and the seconds of each page, by round."""

    database: BenchDatabase
    rows: int
    address: str = ""
    names: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)


async def run(bench: Bench) -> Outcome:
    """Load both sides, then ask both servers for every page in turn."""
    with ExitStack() as open_:
        sides = [Side(open_.enter_context(bench.server.create_database()), n) for n in bench.scale.pages]
        for side in sides:
            bench.show_status(f"pages · loading {side.rows:,} rows of everything")
            await _load(side)
            bench.server.vacuum(side.database)
        bench.server.checkpoint()
        for side in sides:
            side.address = open_.enter_context(foja_server(side.database)).address
        await asyncio.to_thread(_ask_all, bench, sides)
    few, many = sides
    ratios = {page: _ratio(few, many, page) for page in PAGES}
    return Outcome([_table(few, many, ratios)], [_target(few, many, ratios)], _figures(sides))


async def _load(side: Side) -> None:
    """Create the schema and fill it, past the functions that record events one by one."""
    async with foja.connect(database_url=side.database.url, home=str(side.database.folder / "home")) as app:
        await app.work(until_idle=True)  # a log, with a checkpoint
    async with await AsyncConnection.connect(side.database.url, autocommit=True) as connection:
        await connection.execute(query("load_quietly"))
        await connection.execute(query("make_shape"), {"count": side.rows})
        for name in LOADS:
            await connection.execute(query(name), {})
        found = await connection.execute(query("middle_of_shape"), {"place": side.rows // 2})
        [(document, digest)] = await found.fetchall()
    side.names = {"middle": str(document), "digest": str(digest)}


def _ask_all(bench: Bench, sides: Sequence[Side]) -> None:
    with httpx.Client(timeout=120) as client:
        for turn in range(bench.scale.rounds):
            for page in PAGES:
                bench.show_status(f"pages · round {turn + 1} of {bench.scale.rounds} · {page}")
                _ask_both(client, sides, page)


def _ask_both(client: httpx.Client, sides: Sequence[Side], page: str) -> None:
    """Add the median time of a page on each side; they take turns, so that a busy moment affects both."""
    times: dict[int, list[float]] = {side.rows: [] for side in sides}
    for _ in range(WARM + REPEATED):
        for side in random.sample(sides, len(sides)):
            began = time.perf_counter()
            client.get(side.address + page.format(**side.names)).raise_for_status()
            times[side.rows].append(time.perf_counter() - began)
    for side in sides:
        side.seconds.setdefault(page, []).append(spread(times[side.rows][WARM:]).middle)


def _ratio(few: Side, many: Side, page: str) -> Spread:
    return spread([b / a for a, b in zip(few.seconds[page], many.seconds[page], strict=True)])


def _table(few: Side, many: Side, ratios: dict[str, Spread]) -> Table:
    rows = [
        (
            f"`{page}`",
            str(ratio),
            f"{spread(few.seconds[page]).middle * 1000:.1f}",
            f"{spread(many.seconds[page]).middle * 1000:.1f}",
        )
        for page, ratio in ratios.items()
    ]
    columns = ("page", "ratio", f"this run: ms with {few.rows:,}", f"this run: ms with {many.rows:,}")
    title = "Time of the server for a list page, by the number of documents, jobs, messages and images"
    return Table(title, columns, rows)


def _target(few: Side, many: Side, ratios: dict[str, Spread]) -> Target:
    worst = max(ratios, key=lambda page: ratios[page].middle)
    name = f"Every list page with {many.rows:,} of everything, times that with {few.rows:,}"
    measured = ratios[worst]
    return Target(name, f"≤ {MAX_RATIO:g}", f"{measured} `{worst}`", passed=measured.middle <= MAX_RATIO)


def _figures(sides: Sequence[Side]) -> dict[str, object]:
    return {str(side.rows): side.seconds for side in sides}
