"""The embedded database is stopped and not ended: every door says so within seconds, and how to go on."""

from __future__ import annotations

import asyncio
import contextlib
import html
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

import foja
from foja.engine.embedded import postgres
from tests.flow.client.client import served

SOON = 8.0  # seconds, on a machine that is busy; the limit is three


@dataclass
class Frozen:
    """An installation whose database was stopped at a time."""

    client: httpx.AsyncClient
    home: Path
    pid: int
    at: datetime


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="foja-test-"))
    yield folder
    postgres.stop(folder, "immediate")
    shutil.rmtree(folder)


@pytest.fixture
async def frozen(home: Path) -> AsyncIterator[Frozen]:
    async with foja.connect(home=home) as app, served(app) as client:
        working = asyncio.create_task(app.work())
        try:
            for path in ("/", "/metrics", "/readyz"):
                assert (await client.get(path)).status_code == 200
            server = postgres.running(home)
            assert server
            children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
            everything = [server.pid, *map(int, children)]
            for pid in everything:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            try:
                yield Frozen(client, home, server.pid, datetime.now(UTC))
            finally:
                for pid in everything:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


async def asked(frozen: Frozen, path: str) -> httpx.Response:
    """Return the answer, which comes soon."""
    began = time.monotonic()
    answer = await frozen.client.get(path)
    assert time.monotonic() - began < SOON, path
    return answer


async def timed(program: list[str]) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Return how many seconds a program took, and what it said."""
    began = time.monotonic()
    ran = await asyncio.to_thread(subprocess.run, program, capture_output=True, text=True, check=False)
    return time.monotonic() - began, ran


@pytest.mark.timeout(180)
async def test_the_overview_and_the_metrics_answer_from_memory(frozen: Frozen) -> None:
    """The overview took 20 seconds, the metrics 13, and the Spanish page was English."""
    page = await asked(frozen, "/?lang=en")
    text = html.unescape(page.text)
    assert page.status_code == 503
    assert f"kill -CONT {frozen.pid}" in text
    [minute] = re.findall(r"Since \d+ \w+ \d{4}, (\d\d:\d\d)", text)
    assert minute in {f"{frozen.at + timedelta(seconds=each):%H:%M}" for each in (0, SOON)}
    spanish = re.sub(r"<[^>]+>", " ", html.unescape((await asked(frozen, "/?lang=es")).text))
    assert f"Reanúdela ( kill -CONT {frozen.pid} )" in spanish
    assert "La base de datos no responde ahora" in spanish
    assert not re.search(r"\b(does not answer|try again|frozen|within)\b", spanish)
    metrics = (await asked(frozen, "/metrics")).text
    assert re.search(r'foja_health_failing_seconds\{kind="database",part="database"\} [0-9.]*[1-9]', metrics)
    assert "foja_events_total" not in metrics, "who asks cannot be recognised"
    assert (await asked(frozen, "/readyz")).status_code == 503


@pytest.mark.timeout(180)
@pytest.mark.parametrize("command", [["doctor", "--offline"], ["alerts"]], ids=["doctor", "alerts"])
async def test_commands_say_how_to_go_on(frozen: Frozen, command: list[str]) -> None:
    """`foja doctor` and `foja alerts` said nothing for half a minute."""
    program = [str(Path(sys.executable).with_name("foja")), *command, "--home", str(frozen.home)]
    start, _ = await timed([sys.executable, "-c", "import foja.app, foja.interfaces.cli.doctor.doctor"])
    took, ran = await timed(program)
    assert took < SOON + 5 * start, "on a busy machine a start takes long, too"
    assert ran.returncode in {1, 2}
    assert f"kill -CONT {frozen.pid}" in ran.stdout + ran.stderr
