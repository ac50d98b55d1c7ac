"""Foja through its public API: keys given, chain, outbox and executor wake-up all on."""

from __future__ import annotations

import asyncio
import contextlib

import foja
from bench.contenders.connections import ask, tell
from bench.contenders.text import KIND, RESULT, payload, result
from bench.harness import Role
from bench.place import Room
from foja.app import App
from foja.conversations.service import Conversation
from foja.errors import FojaError
from foja.ledger.event import Draft
from foja.ledger.writer import AppendResult

SEED = 500


class Foja:
    """One process of ours, with or without micro-batching, its worker, `append_each`."""

    role: Role = "ours"
    lossless = True
    blocking = False

    def __init__(
        self,
        name: str,
        note: str = "",
        *,
        micro_batch: bool = True,
        worker: bool = False,
        each: bool = False,
        results: bool = False,
    ) -> None:
        self.name, self.note = name, note
        self._micro_batch, self._worker, self._each = micro_batch, worker, each
        self._kind, self._payload = (RESULT, result) if results else (KIND, payload)
        self.talks: list[Conversation] = []
        self._working: asyncio.Task[None] | None = None

    async def create(self, room: Room, streams: int) -> None:
        self.room = room
        async with foja.connect(database_url=room.url, home=room.folder) as app:
            await tell(room.url, "want_executor")
            self.talks = [await app.conversations.open() for _ in range(streams)]
            for start in range(0, streams, SEED):
                part = [self._draft(talk, "seed", 0) for talk in self.talks[start : start + SEED]]
                _accept(await self.talks[0].append_each(part))

    async def open(self, callers: int) -> None:
        await tell(self.room.url, "forget_wakeups")
        self.app: App = foja.connect(
            database_url=self.room.url,
            home=self.room.folder,
            micro_batch=self._micro_batch,
            connections=min(16, max(callers, 2)),
        )
        await self.app.__aenter__()
        self.talks = [await self.app.conversations.open(talk.id) for talk in self.talks]
        if self._worker:
            self._working = asyncio.create_task(self.app.work())

    async def append(self, caller: int, call: int, stream: int) -> None:
        await self.talks[stream].append(self._kind, self._payload(call), idempotency_key=f"call-{call}")

    async def append_list(self, caller: int, call: int, stream: int, size: int) -> None:
        talk = self.talks[stream]
        drafts = [self._draft(talk, f"call-{call}-{n}", call) for n in range(size)]
        if self._each:
            _accept(await talk.append_each(drafts))
        else:
            await talk.append_many(drafts)

    async def close(self) -> None:
        if self._working:
            self._working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._working
            self._working = None
        await self.app.__aexit__(None, None, None)

    async def count(self) -> int:
        if not (await ask(self.room.url, "count_wakeups"))[0][0]:
            raise RuntimeError("no executor was ever woken, so this was not the work we say it was")
        return int((await ask(self.room.url, "count_events"))[0][0])

    def _draft(self, talk: Conversation, key: str, call: int) -> Draft:
        return talk.draft(self._kind, self._payload(call), idempotency_key=key)


def _accept(verdicts: list[AppendResult]) -> None:
    for verdict in verdicts:
        if isinstance(verdict, FojaError):
            raise verdict
