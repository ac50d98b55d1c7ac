"""Foja through its public API, with idempotency keys, chain, outbox and executor wake-up."""

from __future__ import annotations

import asyncio
import contextlib
from uuid import UUID

import foja
from bench.contenders.connections import execute, fetch
from bench.contenders.payloads import MESSAGE, Body, message
from bench.database import BenchDatabase
from bench.harness import Role
from foja.app import App
from foja.engine.ledger.event import Draft
from foja.engine.ledger.lanes.held import AppendResult
from foja.engine.ledger.stream import Stream
from foja.errors import FojaError

SEED = 500
NOTE = Body("own domain", "note.written", message)
# As much as a conversation: a text, and an executor that every event wakes.
OWN = foja.Domain(
    "note", [foja.Kind(NOTE.kind, required={"content": "string|array"}, erasable=True)], decide=lambda *_: []
)


class Foja:
    """One process of Foja, with or without micro-batching, a worker and `append_each`."""

    role: Role = "foja"
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
        body: Body = MESSAGE,
    ) -> None:
        self.name, self.note = name, note
        self._micro_batch, self._worker, self._each = micro_batch, worker, each
        self._body = body
        self._domains = [OWN] if body is NOTE else []
        self.streams: list[Stream] = []
        self._worker_task: asyncio.Task[None] | None = None

    async def create(self, database: BenchDatabase, streams: int) -> None:
        self.database = database
        connection = foja.connect(database_url=database.url, home=database.folder, domains=self._domains)
        async with connection as app:
            await execute(database.url, "want_executor")
            self.streams = [await self._open(app, None) for _ in range(streams)]
            for start in range(0, streams, SEED):
                part = [self._draft(each, "seed", 0) for each in self.streams[start : start + SEED]]
                _raise_refused(await app.ledger.append_each(part))

    async def open(self, callers: int) -> None:
        await execute(self.database.url, "forget_wakeups")
        self.app: App = foja.connect(
            database_url=self.database.url,
            home=self.database.folder,
            micro_batch=self._micro_batch,
            connections=min(16, max(callers, 2)),
            domains=self._domains,
        )
        await self.app.__aenter__()
        self.streams = [await self._open(self.app, each.id) for each in self.streams]
        if self._worker:
            self._worker_task = asyncio.create_task(self.app.work())

    async def append(self, caller: int, call: int, stream: int) -> None:
        await self.streams[stream].append(
            self._body.kind, self._body.payload(call), idempotency_key=f"call-{call}"
        )

    async def append_list(self, caller: int, call: int, stream: int, size: int) -> None:
        written = self.streams[stream]
        drafts = [self._draft(written, f"call-{call}-{n}", call) for n in range(size)]
        if self._each:
            _raise_refused(await written.append_each(drafts))
        else:
            await written.append_many(drafts)

    async def close(self) -> None:
        if self._worker_task:
            self._worker_task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._worker_task
            self._worker_task = None
        await self.app.__aexit__(None, None, None)

    async def count(self) -> int:
        if not (await fetch(self.database.url, "count_wakeups"))[0][0]:
            raise RuntimeError("no executor was woken: the measured work is not complete")
        return int((await fetch(self.database.url, "count_events"))[0][0])

    async def _open(self, app: App, stream_id: UUID | None) -> Stream:
        if self._domains:
            return await app.streams(OWN).open(stream_id)
        return await app.conversations.open(stream_id)

    def _draft(self, stream: Stream, key: str, call: int) -> Draft:
        return stream.draft(self._body.kind, self._body.payload(call), idempotency_key=key)


def _raise_refused(verdicts: list[AppendResult]) -> None:
    for verdict in verdicts:
        if isinstance(verdict, FojaError):
            raise verdict
