"""A real EVM node for tests, brought by npm into a folder that git ignores."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path
from socket import socket
from typing import Any

import httpx
import pytest

FOLDER = Path(__file__).parent / "evm"
PROGRAM = FOLDER / "node_modules" / "@foundry-rs" / "anvil-linux-amd64" / "bin" / "anvil"


@cache
def _brought() -> bool:
    npm = shutil.which("npm")
    if PROGRAM.exists() or not npm:
        return PROGRAM.exists()
    words = ["install", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", str(FOLDER)]
    with (FOLDER / "package.json").open() as turn:
        flock(turn, LOCK_EX)  # another process of this run may be bringing it
        if PROGRAM.exists():
            return True
        try:
            subprocess.run([npm, *words], cwd=FOLDER, capture_output=True, timeout=180, check=True)
        except (subprocess.SubprocessError, OSError):
            return False
    return PROGRAM.exists()


class Node:
    """What can be asked of it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx.Client(base_url=url, timeout=20)

    def ask(self, method: str, *params: object) -> Any:
        answer = self._client.post("", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        reply = answer.json()
        assert "error" not in reply, reply
        return reply["result"]

    def close(self) -> None:
        self._client.close()


@contextmanager
def node(chain_id: int, *options: str) -> Iterator[Node]:
    """Lend a node that mines when it is told to; skip where npm cannot bring it."""
    if not _brought():
        pytest.skip("npm could not bring @foundry-rs/anvil")
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--chain-id",
        str(chain_id),
        "--no-mining",
        "--silent",
        *options,
    ]
    process = subprocess.Popen([PROGRAM, *words])
    found = Node(f"http://127.0.0.1:{port}")
    try:
        _wait(found)
        yield found
    finally:
        found.close()
        process.terminate()
        process.wait()


def _wait(found: Node) -> None:
    for _ in range(100):
        try:
            found.ask("eth_chainId")
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the node did not start")
