"""The delay until followers see an event: many over HTTP, and an idle one in another process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

import foja
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Table, Target, at_most
from foja.domains.conversations.service import Conversation

RATE = 50
MAX_P99_MS = 250.0
MAX_RATIO = 4.0
KIND = "user_message_sent"


async def run(bench: Bench) -> Outcome:
    """Measure both, with the followers in a separate process."""
    full = bench.scale.samples >= 1_000
    followers = 200 if full else 10
    events = int(RATE * bench.scale.seconds * bench.scale.rounds)
    with bench.server.create_database() as database:
        bench.show_status(f"{followers} followers over HTTP")
        delivered = await _measure_http(database, followers, events)
    samples = 200 if full else 10
    with bench.server.create_database() as database:
        bench.show_status("raw notifications")
        one_way, round_trip = await _measure_notify(database, samples)
    with bench.server.create_database() as database:
        bench.show_status("an idle follower")
        idle = await _measure_idle(database, samples)
    return _outcome(followers, events, delivered, (one_way, round_trip, idle))


def _outcome(
    followers: int, events: int, delivered: list[list[Any]], waits: tuple[list[float], ...]
) -> Outcome:
    one_way, round_trip, idle = waits
    expected = list(range(1, events + 1))
    lost = sum(len(set(expected) - {seq for seq, _ in received}) for received in delivered)
    twice = sum(len(received) - len({seq for seq, _ in received}) for received in delivered)
    ages = sorted(age / 1e6 for received in delivered for seq, age in received if seq)
    p99 = _percentile(ages, 0.99)
    ratio = median(idle) / median(round_trip)
    rows = [
        (f"{followers} followers over HTTP, append to socket", *_spread(ages)),
        ("raw notification, one way to another process", *_spread(one_way)),
        ("raw notification, round trip", *_spread(round_trip)),
        ("append to an idle follower in another process", *_spread(idle)),
    ]
    columns = ("what", "this run: median ms", "this run: p99 ms")
    targets = [
        Target("Events lost by followers over HTTP", "0", f"{lost}", passed=not lost),
        Target(
            f"p99 of delivery to {followers} followers",
            f"< {MAX_P99_MS:g} ms",
            f"{p99:.1f} ms",
            passed=p99 < MAX_P99_MS,
        ),
        at_most("Commit to an idle follower compared with a raw LISTEN/NOTIFY round trip", MAX_RATIO, ratio),
    ]
    figures = {"followers": followers, "events": events, "lost": lost, "twice": twice, "p99_ms": p99}
    figures |= {"one_way_ms": median(one_way), "round_trip_ms": median(round_trip), "idle_ms": median(idle)}
    return Outcome([Table("Live", columns, rows)], targets, figures)


async def _measure_http(database: BenchDatabase, followers: int, events: int) -> list[list[Any]]:
    """Append events at a fixed rate while all clients follow; return what each received."""
    async with (
        foja.connect(database_url=database.url, home=database.folder) as app,
        _run_web(database) as address,
    ):
        conversation = await app.conversations.open()
        await _append(conversation)
        path = f"/v1/conversations/{conversation.id}/stream"
        async with _listener("streams", address, path, followers, events + 1) as listener:
            start = time.monotonic()
            for turn in range(events):
                await asyncio.sleep(start + turn / RATE - time.monotonic())
                await _append(conversation)
            return await _read_received(listener)


async def _measure_idle(database: BenchDatabase, samples: int) -> list[float]:
    """Return the milliseconds from the return of an append to a follower in another process."""
    async with foja.connect(database_url=database.url, home=database.folder) as app:
        conversation = await app.conversations.open()
        await _append(conversation)
        arguments = ("follow", database.url, database.folder, conversation.id, samples + 1)
        committed = {}
        async with _listener(*arguments) as listener:
            for _ in range(samples):
                await asyncio.sleep(0.05)
                seq = (await _append(conversation)).seq
                committed[seq] = time.monotonic_ns()
            [received] = await _read_received(listener)
    return sorted((at - committed[seq]) / 1e6 for seq, at in received if seq)


async def _measure_notify(database: BenchDatabase, samples: int) -> tuple[list[float], list[float]]:
    """Return the milliseconds of a raw notification, one way and as a round trip."""
    sent, round_trip = {}, []
    async with (
        _listener("echo", database.url, samples) as listener,
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as listening,
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as sending,
    ):
        await listening.execute("listen back")
        notifications = listening.notifies()
        for turn in range(samples):
            await asyncio.sleep(0.05)
            sent[turn] = time.monotonic_ns()
            await sending.execute("select pg_notify('there', %s)", [str(turn)])
            await anext(notifications)
            round_trip.append((time.monotonic_ns() - sent[turn]) / 1e6)
        await notifications.aclose()
        [one_way] = await _read_received(listener)
    return sorted((at - sent[turn]) / 1e6 for turn, at in one_way), sorted(round_trip)


async def _append(conversation: Conversation) -> Any:
    return await conversation.append(KIND, {"content": "x" * 200, "sent": time.monotonic_ns()})


@contextlib.asynccontextmanager
async def _run_web(database: BenchDatabase) -> AsyncIterator[str]:
    """Run `foja web` and yield its address."""
    program = Path(sys.executable).with_name("foja")
    command = (program, "web", "--port", "0", "--database-url", database.url, "--home", str(database.folder))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout
    try:
        yield (await process.stdout.readline()).decode().split()[1].rstrip(";")
    finally:
        process.terminate()
        await process.communicate()


@contextlib.asynccontextmanager
async def _listener(*arguments: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a listener process; yield it once it is ready."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.workloads.listener", *map(str, arguments),
        stdout=asyncio.subprocess.PIPE, limit=2**28,
    )  # fmt: skip
    assert process.stdout
    try:
        if await process.stdout.readline() != b"ready\n":
            raise RuntimeError("a listener process failed; see its error above")
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _read_received(process: asyncio.subprocess.Process) -> list[list[Any]]:
    assert process.stdout
    received: list[list[Any]] = json.loads(await process.stdout.readline())
    return received


def _spread(values: list[float]) -> tuple[str, str]:
    return f"{median(values):.2f}", f"{_percentile(sorted(values), 0.99):.2f}"


def _percentile(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
