"""A double of a network, for tests of the state machine of batches. It is no evidence of anything.

`Chain` is what hosts share: transactions by nonce, blocks, payments. `FakeNetwork` is one host's view.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from foja.engine.anchors.network import (
    Batch,
    Confirmed,
    Drafted,
    Place,
    Progress,
    Readiness,
    Refused,
    Waiting,
)
from foja.errors import Unavailable
from foja.pure.core.canonical import canonical

FEE, MAX_FEE = 7, 10
Hook = Callable[[], Awaitable[None]]


@dataclass
class Chain:
    """A chain that mines only when it is told to. A transaction is a text."""

    pool: dict[str, int | None] = field(default_factory=dict)  # transactions by nonce
    blocks: list[list[str]] = field(default_factory=list)
    fork: int = 0  # part of every block hash
    used: dict[int, str] = field(default_factory=dict)  # mined transactions by nonce
    sent: list[str] = field(default_factory=list)

    def send(self, raw: str, nonce: int | None) -> None:
        """Accept a transaction, once."""
        self.sent.append(raw)
        if self.find(raw) is None and (nonce is None or nonce not in self.used):
            self.pool[raw] = nonce

    def mine(self) -> None:
        """Mine what can be mined: one transaction per nonce, without gaps."""
        mined = []
        for raw, nonce in sorted(self.pool.items(), key=lambda each: each[1] or 0):
            if nonce is None or nonce == len(self.used):
                mined.append(raw)
                if nonce is not None:
                    self.used[nonce] = raw
        self.pool = {raw: nonce for raw, nonce in self.pool.items() if raw not in mined}
        self.blocks.append(mined)

    def spend(self, nonce: int) -> None:
        """Mine a foreign transaction with this nonce."""
        self.used[nonce] = "foreign"
        self.pool = {raw: each for raw, each in self.pool.items() if each != nonce}
        self.blocks.append(["foreign"])

    def reorganise(self, *, keep: bool) -> None:
        """Replace all blocks; the transactions go back to the pool, or move by one block."""
        gone = [raw for block in self.blocks for raw in block]
        nonces = {raw: nonce for nonce, raw in self.used.items()}
        self.fork += 1
        if keep:
            self.blocks = [[], gone]
            return
        self.blocks, self.used = [], {}
        self.pool |= {raw: nonces.get(raw) for raw in gone}

    def find(self, raw: str) -> int | None:
        """Return the height of the block with a transaction."""
        return next((height for height, block in enumerate(self.blocks) if raw in block), None)

    def hash_at(self, height: int) -> str:
        return sha256(f"{self.fork}:{height}".encode()).hexdigest()

    @property
    def paid(self) -> int:
        """How many of our transactions were mined."""
        return sum(raw != "foreign" for block in self.blocks for raw in block)


class FakeNetwork:
    """A network whose every step can be waited at, or can fail."""

    def __init__(self, name: str, chain: Chain) -> None:
        self.name, self.chain = name, chain
        self.missing: list[str] = []
        self.hooks: dict[str, Hook] = {}
        self.refusals: dict[str, Refused] = {}  # by the root of a batch, in hexadecimal
        self.drafted: list[int | None] = []
        self.down = False
        self.found: dict[str, Any] = {"nonce": 0, "balance": 100} if name == "polygon" else {}
        self.replacement: Waiting | None = None  # what `look` says about a batch that is stuck
        self.more: dict[str, Any] = {}  # further fields of a confirmation

    @property
    def account(self) -> str | None:
        return "0xabc" if self.name == "polygon" else None

    async def check(self) -> Readiness:
        await self._step("check")
        return Readiness(tuple(self.missing), dict(self.found))

    async def draft(self, root: bytes, nonce: int | None) -> Drafted:
        await self._step("draft")
        self.drafted.append(nonce)
        return Drafted({"raw": f"{nonce}:{root.hex()}"}, MAX_FEE)

    async def send(self, batch: Batch) -> Progress:
        await self._step("send")
        self.chain.send(batch.state["raw"], batch.nonce)
        await self._step("sent")
        return Waiting(batch.state, 0, "in the pool")

    async def look(self, batch: Batch) -> Progress:
        await self._step("look")
        raw = batch.state["raw"]
        if refusal := self.refusals.get(batch.root.hex()):
            return refusal
        if (height := self.chain.find(raw)) is not None:
            return self._confirmed(batch, height)
        if batch.nonce in self.chain.used:
            return Refused(batch.state, "nonce_spent", "a foreign transaction used the nonce", spent=True)
        if self.replacement:
            return self.replacement
        self.chain.send(raw, batch.nonce)
        return Waiting(batch.state, 60, "in the pool")

    async def watch(self, batch: Batch) -> Confirmed | Refused:
        await self._step("watch")
        height = self.chain.find(batch.state["raw"])
        if height is None:
            return Refused({"raw": batch.state["raw"]}, "reorged", "its block is gone", spent=True)
        return self._confirmed(batch, height)

    def prove(self, batch: Batch, place: Place) -> bytes:
        path = [each.hex() for each in place.path]
        return canonical({"block": batch.state["block"], "index": place.index, "path": path})

    def _confirmed(self, batch: Batch, height: int) -> Confirmed:
        state = {**batch.state, "block": self.chain.hash_at(height)}
        payload = {"block_height": height, "block_hash": self.chain.hash_at(height)}
        if self.name == "rekor":
            payload = {"log_index": height}
        payload = {**payload, **self.more}
        return Confirmed(state, datetime.now(UTC), payload, (f"block {self.chain.hash_at(height)}",), FEE)

    async def _step(self, name: str) -> None:
        if self.down:
            raise Unavailable("the node does not answer")
        if hook := self.hooks.get(name):
            await hook()
