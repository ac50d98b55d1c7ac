"""How soon is an event seen: by many clients over HTTP, and by an idle follower in another process?"""

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
from bench.harness import Bench
from bench.outcome import Outcome, Table, Target, at_most
from bench.place import Room
from foja.conversations.service import Conversation

RATE = 50
SOON = 250.0
TIMES = 4.0
KIND = "user_message_sent"


async def run(bench: Bench) -> Outcome:
    """Measure both, each with its listeners in a process of their own."""
    full = bench.scale.samples >= 1_000
    followers = 200 if full else 10
    events = int(RATE * bench.scale.seconds * bench.scale.rounds)
    with bench.place.room() as room:
        bench.say(f"{followers} followers over HTTP")
        delivered = await _deliver(room, followers, events)
    samples = 200 if full else 10
    with bench.place.room() as room:
        bench.say("raw notifications")
        there, back = await _notify(room, samples)
    with bench.place.room() as room:
        bench.say("an idle follower")
        idle = await _idle(room, samples)
    return _outcome(followers, events, delivered, (there, back, idle))


def _outcome(
    followers: int, events: int, delivered: list[list[Any]], waits: tuple[list[float], ...]
) -> Outcome:
    there, back, idle = waits
    expected = list(range(1, events + 1))
    lost = sum(len(set(expected) - {seq for seq, _ in heard}) for heard in delivered)
    twice = sum(len(heard) - len({seq for seq, _ in heard}) for heard in delivered)
    ages = sorted(age / 1e6 for heard in delivered for seq, age in heard if seq)
    late = _percentile(ages, 0.99)
    ratio = median(idle) / median(back)
    rows = [
        (f"{followers} followers over HTTP, append to socket", *_spread(ages)),
        ("raw notification, to another process", *_spread(there)),
        ("raw notification, there and back", *_spread(back)),
        ("append to an idle follower in another process", *_spread(idle)),
    ]
    columns = ("what", "this run: median ms", "this run: p99 ms")
    targets = [
        Target("Events lost by followers over HTTP", "0", f"{lost}", passed=not lost),
        Target(
            f"p99 of delivery to {followers} followers",
            f"< {SOON:g} ms",
            f"{late:.1f} ms",
            passed=late < SOON,
        ),
        at_most("Commit to an idle follower, against a raw LISTEN/NOTIFY round trip", TIMES, ratio),
    ]
    figures = {"followers": followers, "events": events, "lost": lost, "twice": twice, "p99_ms": late}
    figures |= {"one_way_ms": median(there), "round_trip_ms": median(back), "idle_ms": median(idle)}
    return Outcome([Table("Live", columns, rows)], targets, figures)


async def _deliver(room: Room, followers: int, events: int) -> list[list[Any]]:
    """Write so many events a second while everybody follows; return what each client heard."""
    async with foja.connect(database_url=room.url, home=room.folder) as app, _served(room) as address:
        talk = await app.conversations.open()
        await _say(talk)
        path = f"/v1/conversations/{talk.id}/stream"
        async with _listener("streams", address, path, followers, events + 1) as listener:
            start = time.monotonic()
            for turn in range(events):
                await asyncio.sleep(start + turn / RATE - time.monotonic())
                await _say(talk)
            return await _heard(listener)


async def _idle(room: Room, samples: int) -> list[float]:
    """Return the milliseconds from the answer of an append to a follower elsewhere."""
    async with foja.connect(database_url=room.url, home=room.folder) as app:
        talk = await app.conversations.open()
        await _say(talk)
        words = ("follow", room.url, room.folder, talk.id, samples + 1)
        committed = {}
        async with _listener(*words) as listener:
            for _ in range(samples):
                await asyncio.sleep(0.05)
                seq = (await _say(talk)).seq
                committed[seq] = time.monotonic_ns()
            [heard] = await _heard(listener)
    return sorted((at - committed[seq]) / 1e6 for seq, at in heard if seq)


async def _notify(room: Room, samples: int) -> tuple[list[float], list[float]]:
    """Return the milliseconds of a raw notification to another process, and there and back."""
    sent, back = {}, []
    async with (
        _listener("echo", room.url, samples) as listener,
        await psycopg.AsyncConnection.connect(room.url, autocommit=True) as ear,
        await psycopg.AsyncConnection.connect(room.url, autocommit=True) as mouth,
    ):
        await ear.execute("listen back")
        heard_back = ear.notifies()
        for turn in range(samples):
            await asyncio.sleep(0.05)
            sent[turn] = time.monotonic_ns()
            await mouth.execute("select pg_notify('there', %s)", [str(turn)])
            await anext(heard_back)
            back.append((time.monotonic_ns() - sent[turn]) / 1e6)
        await heard_back.aclose()
        [there] = await _heard(listener)
    return sorted((at - sent[turn]) / 1e6 for turn, at in there), sorted(back)


async def _say(talk: Conversation) -> Any:
    return await talk.append(KIND, {"content": "x" * 200, "sent": time.monotonic_ns()})


@contextlib.asynccontextmanager
async def _served(room: Room) -> AsyncIterator[str]:
    """Run `foja web` and lend its address."""
    program = Path(sys.executable).with_name("foja")
    words = (program, "web", "--port", "0", "--database-url", room.url, "--home", str(room.folder))
    process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert process.stdout
    try:
        yield (await process.stdout.readline()).decode().split()[1].rstrip(";")
    finally:
        process.terminate()
        await process.communicate()


@contextlib.asynccontextmanager
async def _listener(*words: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a listener; lent once it is ready."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.works.listener", *map(str, words),
        stdout=asyncio.subprocess.PIPE, limit=2**28,
    )  # fmt: skip
    assert process.stdout
    try:
        if await process.stdout.readline() != b"ready\n":
            raise RuntimeError("a listener failed; see above")
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _heard(process: asyncio.subprocess.Process) -> list[list[Any]]:
    assert process.stdout
    heard: list[list[Any]] = json.loads(await process.stdout.readline())
    return heard


def _spread(values: list[float]) -> tuple[str, str]:
    return f"{median(values):.2f}", f"{_percentile(sorted(values), 0.99):.2f}"


def _percentile(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
