"""The servers of an installation: the configured ones, else the embedded ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from foja.engine.driver.address import check_address
from foja.engine.faults import Watch
from foja.engine.private import close_home
from foja.engine.settings import Settings
from foja.engine.tasks import end, to_the_end
from foja.errors import EmbeddedFailed, SetupFailed, Unavailable

CHECK_SECONDS = 1.0


class Server(Protocol):
    """An embedded server that this process uses."""

    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...
    def is_down(self) -> bool: ...
    def revive(self) -> None: ...
    def release(self) -> None: ...


class Stopped(Unavailable):
    """An embedded server that has users does not run."""


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[str]:
    """Yield the administrator's URL, of the embedded server if no other is set."""
    close_home(settings.home)
    if settings.database_url:
        check_address(settings.database_url)
        yield settings.database_url
    else:
        from foja.engine.embedded import (
            postgres,  # late: a command with a database of its own starts without it
        )

        async with _running(postgres.start, settings.home) as url:
            yield url


@asynccontextmanager
async def redis_url(settings: Settings) -> AsyncIterator[str]:
    """Yield the URL of the Redis in use, or an empty string. Start Redis if it is the embedded one."""
    if settings.sequence_lane == "redis" and not settings.redis_url:
        raise SetupFailed(
            "FOJA_SEQUENCE_LANE is redis, but no Redis is set; set FOJA_REDIS_URL, or choose auto or postgres"
        )
    if settings.redis_url != "embedded":
        yield settings.redis_url
    else:
        from foja.engine.embedded import redis

        async with _running(redis.start, settings.home) as url:
            yield url


@asynccontextmanager
async def _running(start: Callable[[Path], Server], home: Path) -> AsyncIterator[str]:
    starting = asyncio.ensure_future(asyncio.to_thread(start, home))
    try:
        server = await asyncio.shield(starting)
        watching = asyncio.create_task(_keep_running(server))
        try:
            yield server.url
        finally:
            await end([watching])
    finally:
        # Wait even after an interrupt: a server that is not released would keep running.
        await asyncio.to_thread((await starting).release)


async def _keep_running(server: Server) -> None:
    """Start the server again whenever it is down, for ever."""
    name = f"embedded {server.name}"
    stopped, failing = Watch(name), Watch(f"start of the {name}")
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        if await asyncio.to_thread(server.is_down):
            stopped.failed(Stopped(f"the {name} has stopped and is started again"))
            try:
                await to_the_end(asyncio.to_thread(server.revive))
            except (EmbeddedFailed, OSError) as error:
                failing.failed(error)
                continue
        failing.worked()
        stopped.worked()
