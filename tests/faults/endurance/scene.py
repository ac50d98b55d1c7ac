"""The processes of one installation on a small disk, behind an odd Redis and a dishonest authority."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from foja.engine.embedded.postgres import running
from tests.faults import load
from tests.faults.endurance import depositor
from tests.faults.ledger.test_odd_redis import OddProxy
from tests.faults.load import Order, read_diary
from tests.flow.command import FOJA
from tests.races.writers import streams
from tests.redis_server import RedisServer
from tests.tsa_server import TsaServer

WRITERS, WORKERS = 2, 2
BACK_SECONDS = 30.0  # within which every process is at work again after a fault has ended
FINAL = "select count(*) from foja.document where finalized"


@dataclass
class Writer:
    """A process that appends, and its diary."""

    order: Order
    process: BaseProcess

    def told(self) -> int:
        """Return how many events were acknowledged to it."""
        return len(read_diary(self.order.diary).told)

    def told_more(self, before: int) -> bool:
        """Return whether more events were acknowledged since."""
        return self.told() > before


@dataclass
class WorkerProcess:
    """A `foja worker`, and the file of its log."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text()[-2000:]

    def kill(self) -> None:
        """Kill it and every process it was started through: each worker is a group of its own."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@dataclass
class Scene:
    """A home with its processes. Faults act on it."""

    home: Path  # on a small disk
    notes: Path  # on another one: diaries and logs
    tsa: TsaServer
    redis: RedisServer
    proxy: OddProxy
    writers: list[Writer] = field(default_factory=list)
    workers: list[WorkerProcess] = field(default_factory=list)
    depositors: list[Order] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)  # of all writers there ever were
    logs: list[Path] = field(default_factory=list)  # of all workers
    count: int = 0

    def settings(self) -> dict[str, Any]:
        """Return what every process of the installation is set to."""
        return {
            "tsa_urls": self.tsa.url,
            "tsa_roots": str(self.notes / "root.pem"),
            "tsa_timeout_seconds": 3,
            "protect_attempts": 1_000,
            "protect_pause_seconds": 1,
            "redis_url": self.proxy.url,
            "lane_return_seconds": 2,
            "retry_seconds": 120,
        }

    def start(self) -> None:
        """Start every process; the first worker creates the database."""
        (self.notes / "root.pem").write_bytes(self.tsa.root)
        self.start_worker()
        wait_for(lambda: running(self.home) is not None and self.finals() == 0, 120, "the database")
        for _ in range(WORKERS - 1):
            self.start_worker()
        for _ in range(WRITERS):
            self.start_writer()
        order = self._order("depositor", pause=0.2)
        self.depositors.append(order)
        self._depositor = depositor.begin(order)

    def start_writer(self) -> None:
        """Start a writer on streams of its own."""
        order = self._order("writer", pause=0.1)
        self.orders.append(order)
        self.writers.append(Writer(order, load.begin(order)))

    def start_worker(self, *prefix: str) -> WorkerProcess:
        """Start a worker for all jobs, by this command if one is given."""
        self.count += 1
        log = self.notes / f"worker-{self.count}.log"
        values = {**self.settings(), "home": self.home, "log_format": "json"}
        environment = {f"FOJA_{name.upper()}": str(value) for name, value in values.items()}
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*prefix, *FOJA, "worker"],
                env={**os.environ, **environment},
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )
        worker = WorkerProcess(process, log)
        if not prefix:
            self.workers.append(worker)
            self.logs.append(log)
        return worker

    def url(self) -> str | None:
        """Return the address of the database, or None while it does not run."""
        server = running(self.home)
        return server.url if server else None

    def finals(self) -> int:
        """Return how many documents are final, or -1 while the database does not answer."""
        try:
            with psycopg.connect(self.url() or "", connect_timeout=5) as conn:
                return int(conn.execute(FINAL).fetchall()[0][0])
        except psycopg.Error:
            return -1

    def documents(self) -> list[UUID]:
        """Return every document whose protection was acknowledged."""
        return [document for order in self.depositors for document in depositor.read_documents(order)]

    def check_back(self, fault: str) -> None:
        """Wait until every process has done something new; fail if one has not in time."""
        told = [(writer, writer.told()) for writer in self.writers]
        deposited, finals = len(self.documents()), max(self.finals(), 0)

        def wait(fact: Callable[[], bool], who: str) -> None:
            wait_for(fact, BACK_SECONDS, f"{who} after {fault}")

        for writer, before in told:
            wait(partial(writer.told_more, before), writer.order.label)
        wait(lambda: len(self.documents()) > deposited, "the depositor")
        wait(lambda: self.finals() > finals, "the workers")
        for worker in self.workers:
            assert worker.process.poll() is None, f"a worker ended after {fault}: {worker.tail}"

    def stop(self) -> None:
        """Let every process end by itself."""
        for order in (*self.orders, *self.depositors):
            order.stop()
        for process in (*(writer.process for writer in self.writers), self._depositor):
            process.join(BACK_SECONDS)
            assert process.exitcode == 0
        for worker in self.workers:
            worker.process.terminate()
            assert worker.process.wait(BACK_SECONDS) == 0, worker.tail

    def kill(self) -> None:
        """End whatever still runs."""
        for writer in self.writers:
            writer.process.kill()
        if hasattr(self, "_depositor"):
            self._depositor.kill()
        for worker in self.workers:
            worker.kill()
            worker.process.wait()

    def _order(self, label: str, pause: float) -> Order:
        self.count += 1
        name = f"{label}-{self.count}"
        return Order("", self.home, self.notes / name, streams(3), name, self.settings(), pause)


def wait_for(fact: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for a fact, or fail after so many seconds."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, f"not back within {seconds:g} s: {what}"
        time.sleep(0.1)
