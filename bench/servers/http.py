"""Servers of the HTTP benchmark as processes, and wrk, which sends the requests."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen
from uuid import UUID

from bench.database import BenchDatabase

CONNECTIONS, THREADS = 64, 2
FOJA = [
    sys.executable,
    "-c",
    "import sys; from foja.interfaces.cli import main; sys.exit(main())",
    "web",
    "--port",
]
BARE = [sys.executable, "-m", "uvicorn", "bench.servers.bare_fastapi:app", "--log-level", "error", "--port"]
RATE, BAD = re.compile(r"Requests/sec:\s+([0-9.]+)"), re.compile(r"Non-2xx or 3xx responses: ([0-9]+)")
SCRIPT = """\
local ids, at = {%s}, math.random(1, 100)
local headers = {["Content-Type"] = "application/json", ["Authorization"] = "Bearer %s"}
function request()
    at = at + 1
    return wrk.format("POST", string.gsub("%s", "ID", ids[at %% #ids + 1]), headers, [==[%s]==])
end
"""


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server that answers."""

    address: str
    pid: int

    def memory(self) -> int:
        """Return the most memory that it has used, in bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+([0-9]+)", status)[1]) << 10  # type: ignore[index]


@contextmanager
def serving(command: Sequence[str], probe: str, **environment: str) -> Iterator[HttpServer]:
    """Start a server on a free port, and stop it afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [*command, str(port)],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        _await(f"{address}{probe}", process)
        yield HttpServer(address, process.pid)
    finally:
        process.terminate()
        process.wait(timeout=30)


def foja_server(database: BenchDatabase) -> AbstractContextManager[HttpServer]:
    """Start `foja web` without a rate limit."""
    return serving(
        FOJA,
        "/healthz",
        FOJA_DATABASE_URL=database.url,
        FOJA_HOME=str(database.folder / "home"),
        FOJA_RATE_LIMIT="0",
    )


def bare_server(database: BenchDatabase) -> AbstractContextManager[HttpServer]:
    """Start the application of about 30 lines."""
    return serving(BARE, "/openapi.json", BARE_DATABASE_URL=database.url)


def requests_per_second(
    server: HttpServer, path: str, ids: Sequence[UUID], body: str, seconds: float, *, key: str = "none"
) -> float:
    """Return how many requests a second wrk had answered; raise if one was refused. All show a key."""
    named = ", ".join(f'"{each}"' for each in ids)
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT % (named, key, path, body))
        script.flush()
        words = ["wrk", f"-t{THREADS}", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "-s", script.name]
        ran = subprocess.run([*words, server.address], capture_output=True, text=True, check=True)
    if refused := BAD.search(ran.stdout):
        raise RuntimeError(f"{refused[1]} requests to {path} were refused")
    return float(RATE.search(ran.stdout)[1])  # type: ignore[index]


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the server for {url} did not start")
