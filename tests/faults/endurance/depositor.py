"""A process that adds digests and requests timestamps, and notes every document that it was told of."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from multiprocessing.process import BaseProcess
from uuid import UUID

import foja
from foja.app import App
from foja.errors import FojaError
from tests import processes
from tests.faults.load import Order


def begin(order: Order) -> BaseProcess:
    """Start a depositor that runs until it is told to stop, or is killed."""
    return processes.begin(_run, order)


def read_documents(order: Order) -> list[UUID]:
    """Return the documents whose protection was acknowledged; the last line may be cut off."""
    lines = order.diary.read_text().split("\n")[:-1] if order.diary.exists() else []
    return [UUID(line) for line in lines]


def _run(order: Order) -> None:
    asyncio.run(_deposit(order))


async def _deposit(order: Order) -> None:
    file = os.open(order.diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    async with foja.connect(home=order.home, **order.settings) as app:
        while not order.stopped:
            with contextlib.suppress(FojaError):  # refused and written nowhere: the next one is tried
                os.write(file, f"{await _protect(app)}\n".encode())
            await asyncio.sleep(order.pause)


async def _protect(app: App) -> UUID:
    document = await app.documents.add_digest(secrets.token_hex(32))
    await app.documents.protect(document.id)
    return document.id
