"""Group the events that a follower receives into batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from foja.conversations.model.order import Envelope, HasEnvelope


async def batches(events: AsyncGenerator[HasEnvelope]) -> AsyncIterator[list[Envelope]]:
    """Yield what arrived since the last batch, so that a long history is drawn in a few steps."""
    waiting: asyncio.Queue[Envelope | Exception] = asyncio.Queue()
    pump = asyncio.create_task(_pump(events, waiting))
    try:
        while True:
            batch = [await waiting.get()]
            while not waiting.empty():
                batch.append(waiting.get_nowait())
            if envelopes := [item for item in batch if not isinstance(item, Exception)]:
                yield envelopes
            for item in batch:
                if isinstance(item, Exception):
                    raise item
    finally:
        pump.cancel()
        await asyncio.gather(pump, return_exceptions=True)


async def _pump(events: AsyncGenerator[HasEnvelope], waiting: asyncio.Queue[Envelope | Exception]) -> None:
    try:
        async with aclosing(events):
            async for item in events:
                waiting.put_nowait(item.envelope())
    except Exception as error:  # raised again where the batches are read
        waiting.put_nowait(error)
