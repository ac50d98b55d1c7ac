"""`foja up`, `foja worker` and `foja web`: services that run until they are stopped."""

from __future__ import annotations

import asyncio
import signal
from argparse import Namespace
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from foja.app import App
from foja.cli.installation import read_settings
from foja.cli.output import print_json_line, print_line


async def up(arguments: Namespace) -> int:
    """Start database, worker and web, and print their addresses."""
    async with App(read_settings(arguments)) as app, _web_server(app) as (server, url):
        _print_addresses(arguments, {**_addresses(app), "web": url})
        async with run_worker(app) as work:
            return await run_until_stopped(arguments, server, work)


async def worker(arguments: Namespace) -> int:
    """Run the workers and the maintenance."""
    async with App(read_settings(arguments)) as app:
        url = app.settings.database_url
        print_started(arguments, f"working on {url}", database=url)
        async with run_worker(app, arguments.only) as work:
            return await run_until_stopped(arguments, work)


async def web(arguments: Namespace) -> int:
    """Serve HTTP."""
    async with App(read_settings(arguments)) as app, _web_server(app) as (server, url):
        print_started(arguments, f"serving {url}", web=url)
        return await run_until_stopped(arguments, server)


def print_started(arguments: Namespace, message: str, **fields: str | None) -> None:
    """Print that a service runs: the message, or the fields as JSON."""
    if arguments.json:
        print_json_line(fields)
    else:
        print_line(f"{message}; stop with Ctrl-C")


def _print_addresses(arguments: Namespace, addresses: dict[str, str]) -> None:
    if not arguments.json:
        for name, value in addresses.items():
            print_line(f"{name:<10}{value}")
    fields = {name.replace(" ", "_"): value for name, value in addresses.items()}
    print_started(arguments, "running", **fields)


@asynccontextmanager
async def _web_server(app: App) -> AsyncIterator[tuple[asyncio.Task[None], str]]:
    from foja.web.server import address, bind, serving  # late: a worker starts without it

    settings = app.settings
    with bind(settings.web_host, settings.web_port, expose=settings.web_expose) as listener:
        async with serving(app, listener, expose=settings.web_expose) as server:
            yield server, address(listener)


@asynccontextmanager
async def run_worker(app: App, only: Collection[str] | None = None) -> AsyncIterator[asyncio.Task[None]]:
    """Run the workers and the maintenance in a task until the block ends."""
    work = asyncio.create_task(app.work(only=only))
    try:
        yield work
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def run_until_stopped(arguments: Namespace, *tasks: asyncio.Task[None]) -> int:
    """Return 0 after SIGTERM, which is a normal end here. Raise what a task raises."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    stopped = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait({*tasks, stopped}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            await task
    finally:
        stopped.cancel()
    if arguments.json:
        print_json_line({"stopped": True})
    else:
        print_line("stopped")
    return 0


def _addresses(app: App) -> dict[str, str]:
    settings = app.settings
    return {
        "home": str(settings.home),
        "database": settings.database_url,
        "objects": settings.storage_url or (settings.home / "store").as_uri(),
        "log key": app.trust[0],
    }
