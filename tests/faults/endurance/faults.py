"""What is done to an installation. Each fault begins, lasts, and ends when its function returns."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
from collections.abc import Awaitable, Callable

import psycopg

from foja.engine.embedded.postgres import running
from tests.faults.documents.test_documents import EVIL
from tests.faults.endurance.scene import Scene
from tests.faults.ledger.test_held_locks import holding
from tests.faults.ledger.test_odd_redis import ODD

Fault = Callable[[Scene, random.Random], Awaitable[None]]


async def kill_writer(scene: Scene, choice: random.Random) -> None:
    """Kill a writer with -9; another one begins."""
    writer = scene.writers.pop(choice.randrange(len(scene.writers)))
    writer.process.kill()
    await asyncio.to_thread(writer.process.join)
    scene.start_writer()


async def kill_worker(scene: Scene, choice: random.Random) -> None:
    """Kill a worker with -9; another one begins."""
    worker = scene.workers.pop(choice.randrange(len(scene.workers)))
    scene.logs.remove(worker.log)  # it could not log the end of its faults
    worker.process.kill()
    await asyncio.to_thread(worker.process.wait)
    scene.start_worker()


async def kill_server(scene: Scene, choice: random.Random) -> None:
    """Kill PostgreSQL with -9; a process that uses it starts it again."""
    if server := running(scene.home):
        os.kill(server.pid, signal.SIGKILL)
    await asyncio.sleep(choice.uniform(0, 2))


async def fill_disk(scene: Scene, choice: random.Random) -> None:
    """Fill the disk of database and store for some seconds."""
    full = scene.home / "full"
    try:
        await asyncio.to_thread(_fill, full)
        await asyncio.sleep(choice.uniform(2, 8))
    finally:
        full.unlink()


def _fill(path: os.PathLike[str]) -> None:
    """Take all space that is left, without a buffer: closing a file with one writes again, and fails."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        with contextlib.suppress(OSError):  # others write meanwhile
            free = os.fstatvfs(descriptor)
            os.posix_fallocate(descriptor, 0, max(1, (free.f_bavail - 1) * free.f_frsize))
        with contextlib.suppress(OSError):
            while True:
                os.write(descriptor, b"0" * 4096)
    finally:
        os.close(descriptor)


async def answer_oddly(scene: Scene, choice: random.Random) -> None:
    """Let Redis answer what it never answers, a few times."""
    scene.proxy.replace(b"EVAL", choice.choice(list(ODD.values())), times=choice.randint(1, 5))
    await asyncio.sleep(choice.uniform(1, 3))
    scene.proxy.replace(b"", b"", times=0)


async def restart_redis(scene: Scene, choice: random.Random) -> None:
    """Kill Redis, or freeze it, or empty it."""
    way = choice.choice(["kill", "freeze", "flush"])
    if way == "kill":
        await asyncio.to_thread(scene.redis.kill)
        await asyncio.sleep(choice.uniform(0, 3))
        await asyncio.to_thread(scene.redis.start)
    elif way == "freeze":
        scene.redis.freeze()
        await asyncio.sleep(choice.uniform(1, 5))
        scene.redis.thaw()
    else:
        with scene.redis.client() as client:
            await asyncio.to_thread(client.flushall)


async def hold_locks(scene: Scene, choice: random.Random) -> None:
    """Hold the row of a stream that is written to, as `psql` with an open transaction does."""
    order = choice.choice(scene.writers).order
    url = scene.url()
    if url is None:
        return
    with contextlib.suppress(psycopg.Error), contextlib.ExitStack() as held:
        await asyncio.to_thread(held.enter_context, holding(url, order.streams[0]))
        await asyncio.sleep(choice.uniform(2, 8))


async def shift_clock(scene: Scene, choice: random.Random) -> None:
    """Run a worker whose clock is wrong beside the others."""
    worker = scene.start_worker("faketime", "-f", choice.choice(["+1d", "-1h", "+10m"]))
    await asyncio.sleep(choice.uniform(5, 10))
    worker.kill()  # with faketime, which is its parent
    await asyncio.to_thread(worker.process.wait)


async def lie(scene: Scene, choice: random.Random) -> None:
    """Let the authority refuse, hang and forge."""
    scene.tsa.behave(*choice.sample(EVIL, 5), choice.choice(EVIL))
    await asyncio.sleep(choice.uniform(2, 6))
    scene.tsa.behave("honest")


FAULTS: tuple[Fault, ...] = (
    kill_writer,
    kill_worker,
    kill_server,
    fill_disk,
    answer_oddly,
    restart_redis,
    hold_locks,
    lie,
    *([shift_clock] if shutil.which("faketime") else []),
)
