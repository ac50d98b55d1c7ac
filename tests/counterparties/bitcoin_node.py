"""A real Bitcoin node (bcoin) on regtest. Blocks are made here and accepted by the node's own rules."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from bitcoin.core import CBlock, COutPoint, CTransaction, CTxIn, CTxOut, lx
from bitcoin.core.script import OP_RETURN, CScript

from tests.counterparties.npm import installed
from tests.counterparties.ports import free_port

KEY = "regtest-key"
TARGET = 0x7FFFFF << 8 * (0x20 - 3)
BITS = 0x207FFFFF


class BitcoinNode:
    """A node, and a miner for it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://x:{KEY}@127.0.0.1:{port}"
        self._http = httpx.Client(base_url=self.url, timeout=20)

    def ask(self, method: str, *params: object) -> Any:
        reply = self._http.post("/", json={"method": method, "params": params, "id": 1}).json()
        assert not reply.get("error"), (method, reply)
        return reply["result"]

    @property
    def height(self) -> int:
        return int(self.ask("getblockcount"))

    def header(self, height: int) -> bytes:
        return bytes.fromhex(self.ask("getblockheader", self.ask("getblockhash", height), False))

    def mine(self, commitment: bytes = b"") -> tuple[CBlock, int]:
        """Add a block to the best chain whose coinbase contains these bytes; return it and its height."""
        best = self.ask("getbestblockhash")
        height = self.height + 1
        before = bytes.fromhex(self.ask("getblockheader", best, False))
        moment = max(int(time.time()), int.from_bytes(before[68:72], "little") + 1)
        coinbase = CTransaction(
            [CTxIn(COutPoint(), CScript([height, os.urandom(8)]))],
            [CTxOut(0, CScript([OP_RETURN, commitment or os.urandom(8)]))],
        )
        block = _worked(lx(best), moment, coinbase)
        assert self.ask("submitblock", block.serialize().hex()) is None
        assert self.height == height
        return block, height

    def grow(self, blocks: int) -> None:
        for _ in range(blocks):
            self.mine()

    def close(self) -> None:
        self._http.close()


def _worked(previous: bytes, moment: int, coinbase: CTransaction) -> CBlock:
    for nonce in range(10_000):
        block = CBlock(0x20000000, previous, b"\0" * 32, moment, BITS, nonce, (coinbase,))
        if int.from_bytes(block.GetHash(), "little") <= TARGET:
            return block
    raise AssertionError("no nonce was found")


@contextmanager
def bitcoin_node(folder: Path) -> Iterator[BitcoinNode]:
    """Lend a node on regtest; skip if npm cannot install it."""
    # leveldown 4, which bcoin names, does not compile any more; in memory it is not used.
    home = installed("bcoin@1.0.2", overrides={"leveldown": "6.1.1"})
    port = free_port()
    words = [
        "node",
        str(home / "node_modules" / "bcoin" / "bin" / "node"),
        "--network=regtest",
        "--memory=true",
        "--no-wallet",
        "--listen=false",
        "--http-host=127.0.0.1",
        f"--http-port={port}",
        f"--api-key={KEY}",
        f"--prefix={folder}",
        "--log-level=error",
    ]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "NODE_BACKEND": "js"}
    with (folder / "bcoin.log").open("wb") as log:
        process = subprocess.Popen(words, env=environment, stdout=log, stderr=log, cwd=folder)
    found = BitcoinNode(port)
    try:
        _wait(found, process, folder / "bcoin.log")
        yield found
    finally:
        found.close()
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(node: BitcoinNode, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            assert node.height == 0
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"the node did not start: {log.read_text()[-2000:]}")
