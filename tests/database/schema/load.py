"""A ledger under load, for checks that must hold while it works."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.errors import SlotVoided


@contextlib.asynccontextmanager
async def busy(app: App) -> AsyncIterator[None]:
    """Append, reserve, fill, void and expire on a few streams while a worker runs."""
    talks = [await app.conversations.open() for _ in range(5)]
    tasks = [asyncio.create_task(_write(talk)) for talk in talks] + [asyncio.create_task(app.work())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in done), done


async def _write(talk: Conversation) -> None:
    while True:
        await talk.append("user_message_sent", {"content": "hello"})
        slots = await talk.reserve(3, ttl=0.1)
        await talk.append("thinking", {"content": "above a hole"})
        with contextlib.suppress(SlotVoided):  # it expired first
            await slots.fill(0, "thinking", {"content": "late"})
            await slots.void(1, reason="denied")
