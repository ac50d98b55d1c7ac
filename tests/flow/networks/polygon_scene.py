"""Batches on a real node: what the batch code stores, and a clock that tests can move."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

from foja.engine.anchors.network import Batch, Confirmed, Place, Progress, Waiting
from foja.engine.anchors.polygon import Polygon, PolygonTerms
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.evm import check
from foja.pure.proofs.evm.signer import PrivateKey
from foja.pure.proofs.finding import Finding
from tests.counterparties.anvil import Node, node
from tests.rules.blocks import batch as batch_of

# The first account of every anvil.
KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
ACCOUNT = "0x" + PrivateKey.decode(bytes.fromhex(KEY[2:])).address.hex()
DEPTH, FINAL = 5, 4  # blocks; a block is final after `FINAL` more
GWEI = 10**9


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Scene:
    """A node, a network on it, and the rows of its batches."""

    chain: Node
    terms: PolygonTerms
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.network = Polygon(self.terms, clock=self.clock)
        self.before = self.balance()

    def using(self, **changes: Any) -> Scene:
        """Return a scene of the same node with other settings."""
        return Scene(self.chain, replace(self.terms, **changes), self.clock)

    async def draft(self, nonce: int = 0, name: bytes = b"document") -> tuple[Batch, Place]:
        """Return a batch of five as it is stored, and the place of one digest in it."""
        digest = sha256(name).digest()
        root, found = batch_of(digest, 5, 3)
        drafted = await self.network.draft(root, nonce)
        batch = Batch(uuid4(), "polygon", root, 5, ACCOUNT, nonce, stored(drafted.state), self.clock())
        return batch, Place(digest, found.salt, found.index, found.size, found.path)

    async def look(self, batch: Batch) -> tuple[Batch, Progress]:
        """Look at a batch, and return it as it is stored afterwards."""
        progress = await self.network.look(batch)
        return replace(batch, state=stored(progress.state)), progress

    async def wait(self, batch: Batch) -> tuple[Batch, Waiting]:
        """Look at a batch that is not confirmed yet."""
        batch, progress = await self.look(batch)
        assert isinstance(progress, Waiting), progress
        return batch, progress

    async def confirm(self, batch: Batch) -> tuple[Batch, Confirmed]:
        """Mine until a batch is confirmed."""
        self.mine(1 + max(DEPTH, FINAL))
        batch, progress = await self.look(batch)
        assert isinstance(progress, Confirmed), progress
        return batch, progress

    def mine(self, blocks: int = 1) -> None:
        self.chain.ask("anvil_mine", hex(blocks))

    def balance(self) -> int:
        return int(self.chain.ask("eth_getBalance", ACCOUNT, "latest"), 16)

    def paid(self) -> int:
        """Return what the account has paid since the start."""
        return self.before - self.balance()

    def pool(self) -> int:
        """Return how many transactions are in the pool."""
        status = self.chain.ask("txpool_status")
        return int(status["pending"], 16) + int(status["queued"], 16)

    def judge(self, batch: Batch, place: Place, confirmed: Confirmed) -> Finding:
        """Judge the proof of one digest under the trust that the network states."""
        proof = self.network.prove(batch, place)
        return check(proof, place.digest, blocks=read(confirmed.trust).blocks, chains=[137])


def stored(state: Any) -> Any:
    """Return a state as a database gives it back."""
    return json.loads(json.dumps(state))


def hashes(batch: Batch) -> list[str]:
    """Return the hashes of all transactions of a batch, the newest last."""
    return [each["hash"] for each in batch.state["transactions"]]


@contextmanager
def scene(**changes: Any) -> Iterator[Scene]:
    """Lend a node of chain 137 with a funded account, and a network that uses it."""
    with node(137, "--slots-in-an-epoch", str(FINAL // 2)) as chain:
        terms = PolygonTerms(rpc_urls=(chain.url,), private_key=KEY, depth=DEPTH, replace_after_seconds=60)
        yield Scene(chain, replace(terms, **changes))
