"""A writer that notes what it asks for and what it is told, so that it can be killed at any moment."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from uuid import UUID

import foja
from foja.app import App
from foja.engine.ledger.event import Event
from foja.engine.ledger.live import follower
from foja.errors import LedgerUnavailable, SlotVoided
from tests import processes
from tests.races.writers import SAY, TOOL, result, words

TASKS = 8


@dataclass(frozen=True, slots=True)
class Order:
    """What a writer is to do, and the file it writes its diary to."""

    url: str
    home: Path
    diary: Path
    streams: list[UUID]
    label: str
    settings: dict[str, Any] = field(default_factory=dict)
    pause: float = 0  # seconds between two appends of a task

    def stop(self) -> None:
        """Tell the writer to finish what it is doing and leave."""
        self.diary.with_suffix(".stop").touch()

    @property
    def stopped(self) -> bool:
        return self.diary.with_suffix(".stop").exists()


@dataclass(frozen=True, slots=True)
class Diary:
    """What a writer asked for and what it was told, by key."""

    asked: dict[str, tuple[UUID, str]]
    told: dict[str, tuple[UUID, int, bytes]]

    def unanswered(self) -> dict[str, tuple[UUID, str]]:
        """Return the requests whose fate the writer never learned."""
        return {key: request for key, request in self.asked.items() if key not in self.told}


def begin(order: Order) -> BaseProcess:
    """Start a writer that runs until it is told to stop, or is killed."""
    return processes.begin(_run, order)


def read_diary(path: Path) -> Diary:
    """Read what a writer has written so far; the last line may be cut off."""
    asked, told = {}, {}
    for line in path.read_text().split("\n")[:-1] if path.exists() else []:
        entry = json.loads(line)
        if "seq" in entry:
            told[entry["key"]] = (UUID(entry["stream"]), entry["seq"], bytes.fromhex(entry["hash"]))
        else:
            asked[entry["key"]] = (UUID(entry["stream"]), entry["text"])
    return Diary(asked, told)


def count_told(path: Path) -> int:
    """Return how many answers a diary has so far, without parsing it: a test asks again and again."""
    return path.read_bytes().count(b'"seq": ') if path.exists() else 0


class _Writer:
    def __init__(self, app: App, order: Order) -> None:
        self._app, self._order = app, order
        self._file = os.open(order.diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def work(self, task: int) -> None:
        turn = 0
        while not self._order.stopped:
            stream = self._order.streams[(task + turn) % len(self._order.streams)]
            key = f"{self._order.label}/{task}/{turn}"
            await (self._fill(stream, key) if turn % 10 == 9 else self._append(stream, key))
            turn += 1
            await asyncio.sleep(self._order.pause)

    async def _append(self, stream: UUID, key: str) -> None:
        talk = await self._app.conversations.open(stream)
        self._note(key=key, stream=str(stream), text=key)
        self._tell(key, await talk.append(SAY, words(key), idempotency_key=key))

    async def _fill(self, stream: UUID, key: str) -> None:
        """Use two numbers of which the crash may take the promise, but never the event."""
        talk = await self._app.conversations.open(stream)
        with contextlib.suppress(SlotVoided, LedgerUnavailable):
            slots = await talk.reserve(2, ttl=1)
            for ordinal in (1, 0):
                event = await slots.fill(ordinal, TOOL, result(key), idempotency_key=f"{key}/{ordinal}")
                self._tell(f"{key}/{ordinal}", event)

    def _tell(self, key: str, event: Event) -> None:
        assert event.body_hash is not None
        self._note(key=key, stream=str(event.entity_id), seq=event.seq, hash=event.body_hash.hex())

    def _note(self, **entry: Any) -> None:
        os.write(self._file, json.dumps(entry).encode() + b"\n")


def _run(order: Order) -> None:
    asyncio.run(_write(order))


async def _write(order: Order) -> None:
    settings = {"retry_seconds": 30, "checkpoint_seconds": 0.05, **order.settings}
    async with foja.connect(database_url=order.url, home=order.home, **settings) as app:
        writer = _Writer(app, order)
        worker = asyncio.create_task(app.work())
        await asyncio.gather(*(writer.work(task) for task in range(TASKS)))
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)


def sequence(url: str, home: Path) -> int:
    """Seal, number and publish without a pause; return how much was numbered.

    Once it does there is a file `sequencing-…` in `home`; it ends when there is one named `enough`.
    """
    return asyncio.run(_sequence(url, home))


async def _sequence(url: str, home: Path) -> int:
    placed = 0
    async with foja.connect(database_url=url, home=home) as app:
        (home / f"sequencing-{os.getpid()}").touch()
        while not (home / "enough").exists():
            await app.sequencer.sweep()
            placed += await app.sequencer.number()
            await app.sequencer.publish()
    return placed


def follow_in_process(url: str, home: Path, stream: UUID, count: int) -> list[tuple[int, UUID | None]]:
    """Follow a stream until it has given so many events; return their numbers and ids.

    It reads only what it is notified of: it would poll after an hour. From the first event on there
    is a file `follows` in `home`.
    """
    follower.POLL_SECONDS = 3600.0
    return asyncio.run(_follow(url, home, stream, count))


async def _follow(url: str, home: Path, stream: UUID, count: int) -> list[tuple[int, UUID | None]]:
    got: list[tuple[int, UUID | None]] = []
    async with foja.connect(database_url=url, home=home) as app:
        talk = await app.conversations.open(stream)
        async for event in talk.follow():
            assert isinstance(event, Event)
            got.append((event.seq, event.id))
            (home / "follows").touch()
            if len(got) == count:
                break
    return got
