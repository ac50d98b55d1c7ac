"""Foja through its public API, with idempotency keys, chain, outbox and executor wake-up."""

from __future__ import annotations

import asyncio
import contextlib

import foja
from bench.contenders.connections import execute, fetch
from bench.contenders.payloads import KIND, RESULT, payload, result
from bench.database import BenchDatabase
from bench.harness import Role
from foja.app import App
from foja.conversations.service import Conversation
from foja.errors import FojaError
from foja.ledger.event import Draft
from foja.ledger.writer import AppendResult

SEED = 500


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
        results: bool = False,
    ) -> None:
        self.name, self.note = name, note
        self._micro_batch, self._worker, self._each = micro_batch, worker, each
        self._kind, self._payload = (RESULT, result) if results else (KIND, payload)
        self.conversations: list[Conversation] = []
        self._worker_task: asyncio.Task[None] | None = None

    async def create(self, database: BenchDatabase, streams: int) -> None:
        self.database = database
        async with foja.connect(database_url=database.url, home=database.folder) as app:
            await execute(database.url, "want_executor")
            self.conversations = [await app.conversations.open() for _ in range(streams)]
            for start in range(0, streams, SEED):
                part = [
                    self._draft(conversation, "seed", 0)
                    for conversation in self.conversations[start : start + SEED]
                ]
                _raise_refused(await self.conversations[0].append_each(part))

    async def open(self, callers: int) -> None:
        await execute(self.database.url, "forget_wakeups")
        self.app: App = foja.connect(
            database_url=self.database.url,
            home=self.database.folder,
            micro_batch=self._micro_batch,
            connections=min(16, max(callers, 2)),
        )
        await self.app.__aenter__()
        self.conversations = [
            await self.app.conversations.open(conversation.id) for conversation in self.conversations
        ]
        if self._worker:
            self._worker_task = asyncio.create_task(self.app.work())

    async def append(self, caller: int, call: int, stream: int) -> None:
        await self.conversations[stream].append(
            self._kind, self._payload(call), idempotency_key=f"call-{call}"
        )

    async def append_list(self, caller: int, call: int, stream: int, size: int) -> None:
        conversation = self.conversations[stream]
        drafts = [self._draft(conversation, f"call-{call}-{n}", call) for n in range(size)]
        if self._each:
            _raise_refused(await conversation.append_each(drafts))
        else:
            await conversation.append_many(drafts)

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

    def _draft(self, conversation: Conversation, key: str, call: int) -> Draft:
        return conversation.draft(self._kind, self._payload(call), idempotency_key=key)


def _raise_refused(verdicts: list[AppendResult]) -> None:
    for verdict in verdicts:
        if isinstance(verdict, FojaError):
            raise verdict
