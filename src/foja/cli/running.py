"""`foja up` and `foja worker`: they run until somebody stops them."""

from __future__ import annotations

import asyncio
import signal
from argparse import Namespace

from foja.app import App
from foja.cli.installation import settings_of, started
from foja.cli.output import say


async def up(arguments: Namespace) -> int:
    """Start everything and say where it is."""
    async with started(settings_of(arguments)) as app:
        for name, place in _places(app).items():
            say(f"{name:<10}{place}")
        say("running; stop with Ctrl-C")
        return await _work(app)


async def worker(arguments: Namespace) -> int:
    """Do what no caller waits for."""
    async with started(settings_of(arguments)) as app:
        say(f"working on {app.settings.database_url}; stop with Ctrl-C")
        return await _work(app)


async def _work(app: App) -> int:
    """Work until asked to end: a wish that is granted is no failure."""
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    work, end = asyncio.create_task(app.work()), asyncio.create_task(told.wait())
    try:
        await asyncio.wait({work, end}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            await work
    finally:
        for task in (work, end):
            task.cancel()
        await asyncio.gather(work, end, return_exceptions=True)
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
