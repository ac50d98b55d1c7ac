"""What a follower is given, as much at a time as has come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from foja.conversations.model.order import Envelope, HasEnvelope


async def batches(heard: AsyncGenerator[HasEnvelope]) -> AsyncIterator[list[Envelope]]:
    """Yield everything that came since the last time: a long history comes in a few strokes."""
    waiting: asyncio.Queue[Envelope | Exception] = asyncio.Queue()
    pump = asyncio.create_task(_pump(heard, waiting))
    try:
        while True:
            came = [await waiting.get()]
            while not waiting.empty():
                came.append(waiting.get_nowait())
            if forms := [item for item in came if not isinstance(item, Exception)]:
                yield forms
            for item in came:
                if isinstance(item, Exception):
                    raise item
    finally:
        pump.cancel()
        await asyncio.gather(pump, return_exceptions=True)


async def _pump(heard: AsyncGenerator[HasEnvelope], waiting: asyncio.Queue[Envelope | Exception]) -> None:
    try:
        async with aclosing(heard):
            async for item in heard:
                waiting.put_nowait(item.envelope())
    except Exception as error:  # it belongs to whoever reads the batches
        waiting.put_nowait(error)
