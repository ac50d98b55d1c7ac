"""A real EVM node for tests, installed by npm."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.counterparties.npm import installed
from tests.counterparties.ports import free_port

PACKAGE = "@foundry-rs/anvil@1.7.1"
PROGRAM = Path("node_modules", "@foundry-rs", "anvil-linux-amd64", "bin", "anvil")


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
    """Run a node that mines when it is told to; skip if npm cannot install it for this machine."""
    program, port = installed(PACKAGE) / PROGRAM, free_port()
    if not program.exists():
        pytest.skip(f"{PACKAGE} has no program for this machine")
    address = ["--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [program, *address, "--chain-id", str(chain_id), "--no-mining", "--silent", *options]
    )
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
