"""`foja bench`: measure appends on this server, in a temporary database."""

from __future__ import annotations

import asyncio
import tempfile
from argparse import Namespace
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.embedded.servers import database
from foja.engine.settings import Settings
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.cli.output import print_result, table
from foja.interfaces.cli.server.temporary_database import temporary_database

KIND, BODY = "user_message_sent", {"content": "How long is this event? About as long as most of them are."}
MANY, BATCH = 256, 100


@dataclass(frozen=True, slots=True)
class BenchCase:
    """One load: the number of callers, of streams and of events per call."""

    name: str
    callers: int
    streams: int = MANY
    batch: int = 1


@dataclass(frozen=True, slots=True)
class Result:
    """The measured rate and latencies of a case."""

    case: str
    events_per_second: float
    p50_ms: float
    p99_ms: float


CASES = (
    BenchCase("1 caller", 1),
    BenchCase("16 callers", 16),
    BenchCase("64 callers", 64),
    BenchCase("64 callers, one hot stream", 64, streams=1),
    BenchCase(f"4 callers, batches of {BATCH}", 4, batch=BATCH),
)


async def bench(arguments: Namespace) -> None:
    """Run every case and print its results."""
    settings = read_settings(arguments)
    with tempfile.TemporaryDirectory(prefix="foja-bench-") as home:
        async with database(settings) as url, temporary_database(url) as temporary_url:
            changed = {"database_url": temporary_url, "home": Path(home), "storage_url": ""}
            results = await _run_all(settings.model_copy(update=changed), arguments.seconds)
    lines = table(("case", "events/s", "p50 ms", "p99 ms"), [astuple(result) for result in results])
    print_result(arguments, [asdict(result) for result in results], *lines)


async def _run_all(settings: Settings, seconds: float) -> list[Result]:
    async with App(settings) as app:
        return [await _run(app, case, seconds) for case in CASES]


async def _run(app: App, case: BenchCase, seconds: float) -> Result:
    streams = [await app.conversations.open() for _ in range(case.streams)]
    clock = asyncio.get_running_loop().time
    began, times = clock(), list[float]()

    async def call(number: int) -> None:
        turn = number
        while (start := clock()) < began + seconds:
            await _append(streams[turn % len(streams)], case.batch)
            times.append(clock() - start)
            turn += case.callers

    await asyncio.gather(*(call(number) for number in range(case.callers)))
    return _result(case, times, clock() - began)


async def _append(stream: Conversation, batch: int) -> None:
    if batch == 1:
        await stream.append(KIND, BODY)
    else:
        await stream.append_many([stream.draft(KIND, BODY) for _ in range(batch)])


def _result(case: BenchCase, times: list[float], elapsed: float) -> Result:
    times.sort()
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    rate = len(times) * case.batch / elapsed
    return Result(case.name, round(rate, 1), round(p50 * 1000, 2), round(p99 * 1000, 2))
