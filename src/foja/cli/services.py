"""`foja up`, `foja worker` and `foja web`: they run until somebody stops them."""

from __future__ import annotations

import asyncio
import signal
from argparse import Namespace
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from foja.app import App
from foja.cli.installation import settings_of, started
from foja.cli.output import record, say


async def up(arguments: Namespace) -> int:
    """Start everything and say where it is."""
    from foja.web.server import address, bind, serving  # a worker starts without it

    async with started(settings_of(arguments)) as app:
        settings = app.settings
        with bind(settings.web_host, settings.web_port, expose=settings.web_expose) as listener:
            async with serving(app, listener, expose=settings.web_expose) as server:
                _tell_places(arguments, {**_places(app), "web": address(listener)})
                async with working(app) as work:
                    return await until_told(arguments, server, work)


async def worker(arguments: Namespace) -> int:
    """Do what no caller waits for."""
    async with started(settings_of(arguments)) as app:
        begun(arguments, f"working on {app.settings.database_url}", database=app.settings.database_url)
        async with working(app, arguments.only) as work:
            return await until_told(arguments, work)


async def web(arguments: Namespace) -> int:
    """Serve HTTP."""
    from foja.web.server import address, bind, serving  # a worker starts without it

    async with started(settings_of(arguments)) as app:
        settings = app.settings
        with bind(settings.web_host, settings.web_port, expose=settings.web_expose) as listener:
            async with serving(app, listener, expose=settings.web_expose) as server:
                begun(arguments, f"serving {address(listener)}", web=address(listener))
                return await until_told(arguments, server)


def begun(arguments: Namespace, words: str, **places: str | None) -> None:
    """Say that it runs, and where."""
    if arguments.json:
        record(places)
    else:
        say(f"{words}; stop with Ctrl-C")


def _tell_places(arguments: Namespace, places: dict[str, str]) -> None:
    if not arguments.json:
        for name, place in places.items():
            say(f"{name:<10}{place}")
    begun(arguments, "running", **{name.replace(" ", "_"): place for name, place in places.items()})


@asynccontextmanager
async def working(app: App, only: Collection[str] | None = None) -> AsyncIterator[asyncio.Task[None]]:
    """Do what no caller waits for, until the block ends."""
    work = asyncio.create_task(app.work(only=only))
    try:
        yield work
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def until_told(arguments: Namespace, *tasks: asyncio.Task[None]) -> int:
    """Return when asked to end: a wish that is granted is no failure. Raise what a task raises."""
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    end = asyncio.create_task(told.wait())
    try:
        done, _ = await asyncio.wait({*tasks, end}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            await task
    finally:
        end.cancel()
    if arguments.json:
        record({"stopped": True})
    else:
        say("stopped")
    return 0


def _places(app: App) -> dict[str, str]:
    settings = app.settings
    return {
        "home": str(settings.home),
        "database": settings.database_url,
        "objects": settings.storage_url or (settings.home / "store").as_uri(),
        "log key": app.trust[0],
    }
