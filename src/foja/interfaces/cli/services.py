"""`foja up`, `foja worker` and `foja web`: services that run until they are stopped."""

from __future__ import annotations

import asyncio
import os
import signal
from argparse import Namespace
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from foja import __version__
from foja.app import App
from foja.engine.driver.garbage import collect_seldom
from foja.engine.settings import Settings
from foja.engine.tasks import end
from foja.errors import SetupFailed, redact
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.cli.output import print_error, print_json_line, print_line, print_lines, print_wait

COLLECTORS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


async def up(arguments: Namespace) -> int:
    """Start database, worker and web, and print their addresses."""
    import foja.interfaces.web.server  # noqa: F401  nothing is started where its packages are missing

    settings = read_settings(arguments)
    _print_step(arguments, _starting(settings))
    async with _sending_traces(), App(settings) as app:
        await app.workers.open()  # a role that is missing is known before anything is printed
        if arguments.demo:
            await _add_demonstration_data(arguments, app)
        async with _serving(app, settings.web_port) as (server, url):
            addresses = _addresses(app)
            if not arguments.json:
                print_lines(f"{name.replace('_', ' '):<12}{value}" for name, value in addresses.items())
            print_started(arguments, f"running at {url}", **addresses, web=url)
            collect_seldom()
            async with in_background(app.work()) as work:
                return await run_until_stopped(arguments, *server, work)


def _starting(settings: Settings) -> str:
    return f"starting {redact(settings.database_url) or f'PostgreSQL in {settings.home}'}"


def _addresses(app: App) -> dict[str, str]:
    settings = app.settings
    return {
        "home": str(settings.home),
        "database": redact(settings.database_url),
        "redis": redact(settings.redis_url) or "none: PostgreSQL numbers all events",
        "objects": redact(settings.store_url),
        "timestamps": redact(settings.tsa_urls) or "local authority: proves order to you, not time to others",
        "worker": "in this process, for all job types",
        "log_key": app.trust[0],
    }


async def _add_demonstration_data(arguments: Namespace, app: App) -> None:
    from foja.interfaces.cli.demo.seed.seed import added, fill

    _print_step(arguments, "adding demonstration data: about ten seconds")
    for line in added(await fill(app)):
        _print_step(arguments, line)


def _print_step(arguments: Namespace, line: str) -> None:
    """Print what is done while nothing can be used yet."""
    if not arguments.json:
        print_line(line)


async def worker(arguments: Namespace) -> int:
    """Run the workers and the maintenance."""
    settings = read_settings(arguments)
    print_wait(_starting(settings))
    async with _sending_traces(), App(settings) as app:
        await app.workers.open(arguments.only or None)  # so is a type that no worker does
        collect_seldom()
        url = redact(app.settings.database_url)
        async with _serving(app, settings.metrics_port, metrics_only=True) as (server, metrics):
            at = f", metrics at {metrics}/metrics" if metrics else ""
            print_started(arguments, f"working on {url}{at}", database=url, metrics=metrics)
            async with in_background(app.work(only=arguments.only or None)) as work:
                return await run_until_stopped(arguments, work, *server)


@asynccontextmanager
async def _sending_traces() -> AsyncIterator[None]:
    """Send traces while the block runs, if a collector is named and `foja[otel]` is installed."""
    if not any(os.environ.get(name) for name in COLLECTORS) or os.environ.get("OTEL_SDK_DISABLED") == "true":
        yield
        return
    try:
        from foja.integrations.otel import sending
    except SetupFailed as error:
        print_error(f"no traces are sent: {error}")
        yield
        return
    with sending(__version__):
        yield


async def web(arguments: Namespace) -> int:
    """Serve HTTP."""
    import foja.interfaces.web.server  # noqa: F401  as above

    settings = read_settings(arguments)
    print_wait(_starting(settings))
    async with _sending_traces(), App(settings) as app, _serving(app, settings.web_port) as (server, url):
        collect_seldom()
        print_started(arguments, f"serving {url}", web=url)
        return await run_until_stopped(arguments, *server)


def print_started(arguments: Namespace, message: str, **fields: str | None) -> None:
    """Print that a service runs: the message, or the fields as JSON."""
    if arguments.json:
        print_json_line(fields)
    else:
        print_line(f"{message}; stop with Ctrl-C")


@asynccontextmanager
async def _serving(
    app: App, port: int | None, *, metrics_only: bool = False
) -> AsyncIterator[tuple[list[asyncio.Task[None]], str | None]]:
    """Serve the app, or only its metrics, while the block runs, if a port is set."""
    if port is None:
        yield [], None
        return
    from foja.interfaces.web.server import address, bind_for, serving  # late: a worker starts without it

    with await bind_for(app, port) as listener:
        async with serving(app, listener, metrics_only=metrics_only) as server:
            yield [server], address(listener)


@asynccontextmanager
async def in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Run this in a task until the block ends."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        await end([task])


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
