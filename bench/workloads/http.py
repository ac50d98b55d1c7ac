"""The HTTP API with keys: appends, an upload, and the price of keys and of the wall between tenants.

Appends are compared with the Python surface and with a bare application, the upload with a plain copy.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import foja
from bench.contenders.payloads import MESSAGE, message
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Table, Target, at_least, spread
from bench.servers.http import CONNECTIONS, bare_server, foja_server, requests_per_second
from bench.workloads import upload, wall
from foja.domains.conversations.service import Conversation

BATCH = 100
SINGLE, BATCHED, BARE = (
    "/v1/conversations/ID/events",
    "/v1/conversations/ID/events/batch",
    "/streams/ID/events",
)
MIN_BATCH, MIN_SINGLE, MIN_BARE = 0.6, 0.2, 1.0
LONGER = 4
ABSENT = "{} is missing (apt install {}); {} not measured."


@dataclass
class Figures:
    """Events per second of each surface, by round."""

    events: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, rate: float) -> None:
        """Add the rate of a round."""
        self.events.setdefault(name, []).append(rate)


async def run(bench: Bench) -> Outcome:
    """Measure what the programs of this machine allow; say what is missing."""
    with bench.server.create_database() as database:
        key = await _make_key(database)
        parts = [await wall.run(bench, database, key)]
        if shutil.which("wrk"):
            parts.append(await _appends(bench, database, key))
        else:
            parts.append(Outcome([], remarks=[ABSENT.format("wrk", "wrk", "appends over HTTP were")]))
        if shutil.which("curl"):
            parts.append(await asyncio.to_thread(upload.run, bench, database, key))
        else:
            parts.append(Outcome([], remarks=[ABSENT.format("curl", "curl", "the upload was")]))
    return _together(parts)


def _together(parts: list[Outcome]) -> Outcome:
    return Outcome(
        [table for part in parts for table in part.tables],
        [target for part in parts for target in part.targets],
        {name: value for part in parts for name, value in part.figures.items()},
        [remark for part in parts for remark in part.remarks],
    )


async def _make_key(database: BenchDatabase) -> str:
    """Create the schema and a key: from now on every request needs one."""
    async with foja.connect(database_url=database.url, home=str(database.folder / "home")) as app:
        return (await app.access.keys.create(app.settings.own_tenant, ["read", "write"])).text


async def _appends(bench: Bench, own: BenchDatabase, key: str) -> Outcome:
    """Append in rounds, one surface at a time."""
    figures, ids, seconds = Figures(), [uuid4() for _ in range(CONNECTIONS * 4)], bench.scale.seconds
    with bench.server.create_database() as bare:
        for turn in range(bench.scale.rounds):
            bench.show_status(f"http · appends · round {turn + 1}")
            await _python(figures, own, ids, seconds)
            await asyncio.to_thread(_served, figures, own, ids, seconds, key)
            await asyncio.to_thread(_bare, figures, bare, ids, seconds)
    return Outcome([_table(figures)], _targets(figures), {"http": vars(figures)})


async def _python(figures: Figures, database: BenchDatabase, ids: list[UUID], seconds: float) -> None:
    """Append from this process: one event at a time, then batches."""
    async with foja.connect(database_url=database.url, home=str(database.folder / "home")) as app:
        talks: list[Conversation] = [await app.conversations.open(each) for each in ids]

        async def one(talk: Conversation) -> None:
            await talk.append(MESSAGE.kind, message(0))

        async def many(talk: Conversation) -> None:
            await talk.append_each([talk.draft(MESSAGE.kind, message(n)) for n in range(BATCH)])

        figures.add("Python, single", await _rate(one, talks, seconds))
        figures.add("Python, batch", BATCH * await _rate(many, talks, seconds))


async def _rate(
    call: Callable[[Conversation], Awaitable[None]], talks: list[Conversation], seconds: float
) -> float:
    """Return the calls per second of as many callers as wrk has connections."""
    end, done = time.perf_counter() + seconds, 0

    async def caller(number: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await call(talks[(number + done) % len(talks)])
            done += 1

    began = time.perf_counter()
    await asyncio.gather(*map(caller, range(CONNECTIONS)))
    return done / (time.perf_counter() - began)


def _served(figures: Figures, database: BenchDatabase, ids: list[UUID], seconds: float, key: str) -> None:
    single = json.dumps(_event(0))
    batch = json.dumps({"events": [_event(n) for n in range(BATCH)]})
    with foja_server(database) as server:
        figures.add("HTTP, single", requests_per_second(server, SINGLE, ids, single, seconds, key=key))
        # wrk does not count what it has sent when its time is up: here 6,400 events, a good part of a second.
        rate = requests_per_second(server, BATCHED, ids, batch, LONGER * seconds, key=key)
        figures.add("HTTP, batch", BATCH * rate)


def _bare(figures: Figures, database: BenchDatabase, ids: list[UUID], seconds: float) -> None:
    with bare_server(database) as server:
        rate = requests_per_second(server, BARE, ids, json.dumps(_event(0)), seconds)
    figures.add("FastAPI + asyncpg, single", rate)


def _event(number: int) -> dict[str, object]:
    return {"kind": MESSAGE.kind, "payload": message(number)}


def _table(figures: Figures) -> Table:
    rows = [(name, f"{spread(rates).middle:,.0f}") for name, rates in figures.events.items()]
    return Table(f"Events per second, {CONNECTIONS} connections or callers", ("surface", "events/s"), rows)


def _targets(figures: Figures) -> list[Target]:
    def ratio(name: str, to: str) -> list[float]:
        return [a / b for a, b in zip(figures.events[name], figures.events[to], strict=True)]

    batch, single = ratio("HTTP, batch", "Python, batch"), ratio("HTTP, single", "Python, single")
    bare = ratio("HTTP, single", "FastAPI + asyncpg, single")
    return [
        at_least(f"Append over HTTP, batches of {BATCH}", MIN_BATCH, spread(batch), "Python"),
        at_least("Append over HTTP, one event", MIN_SINGLE, spread(single), "Python"),
        at_least("Append over HTTP, one event", MIN_BARE, spread(bare), "a bare FastAPI + asyncpg insert"),
    ]
