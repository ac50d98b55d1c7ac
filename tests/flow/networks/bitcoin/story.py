"""A batch on Bitcoin as the batch code drives it: every state is stored as JSON between two steps."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from subprocess import PIPE, STDOUT, run
from uuid import uuid4

from foja.engine.anchors.bitcoin import Bitcoin, BitcoinTerms
from foja.engine.anchors.network import Batch, Confirmed, Place, Progress
from foja.pure.core.merkle import leaf_hash
from tests.counterparties.bitcoin_node import BitcoinNode
from tests.counterparties.ots_calendar import Calendar
from tests.rules.proofs.test_ots_written import tree

OTS = Path(sys.executable).parent / "ots"


def terms(node: BitcoinNode | None, *calendars: Calendar, **changes: object) -> BitcoinTerms:
    found = BitcoinTerms(
        tuple(each.url for each in calendars),
        (node.url,) if node else (),
        network="regtest",
        timeout_seconds=5,
        poll_seconds=1000,
        block_seconds=10,
        retry_seconds=3,
    )
    return replace(found, **changes)  # type: ignore[arg-type]


@dataclass
class Story:
    """One batch of some digests, and what became of it."""

    network: Bitcoin
    digests: list[bytes] = field(default_factory=lambda: [os.urandom(32) for _ in range(5)])
    batch: Batch = field(init=False)
    places: list[Place] = field(init=False)

    def __post_init__(self) -> None:
        salts = [os.urandom(16) for _ in self.digests]
        pairs = list(zip(salts, self.digests, strict=True))
        root, paths = tree([leaf_hash(salt + digest) for salt, digest in pairs])
        size = len(self.digests)
        self.places = [
            Place(digest, salt, index, size, tuple(paths[index]))
            for index, (salt, digest) in enumerate(pairs)
        ]
        self.batch = Batch(uuid4(), "bitcoin", root, size, None, None, {}, datetime.now(UTC))

    async def begin(self) -> Progress:
        """Draft and send it."""
        drafted = await self.network.draft(self.batch.root, None)
        assert drafted.max_fee == 0
        self.store(drafted.state)
        return await self.send()

    async def send(self) -> Progress:
        return self.stored(await self.network.send(self.batch))

    async def look(self) -> Progress:
        return self.stored(await self.network.look(self.batch))

    async def watch(self) -> Progress:
        return self.stored(await self.network.watch(self.batch))

    def stored(self, progress: Progress) -> Progress:
        self.store(progress.state)
        return progress

    def store(self, state: object) -> None:
        self.batch = replace(self.batch, state=json.loads(json.dumps(state)))

    @property
    def log(self) -> str:
        return "\n".join(self.batch.state["log"])

    def proofs(self) -> list[bytes]:
        return [self.network.prove(self.batch, place) for place in self.places]


def confirmed(progress: Progress) -> Confirmed:
    assert isinstance(progress, Confirmed), progress
    return progress


def ots(folder: Path, node: BitcoinNode, calendars: Sequence[Calendar], *words: str) -> tuple[int, str]:
    """Run the real client; return its exit code and what it said."""
    allowed = [word for each in calendars for word in ("-l", each.url)]
    command = [str(OTS), "--no-cache", "--no-default-whitelist", *allowed, "--btc-regtest"]
    command += ["--bitcoin-node", node.url, *words]
    done = run(command, cwd=folder, stdout=PIPE, stderr=STDOUT, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def file_of(folder: Path, data: bytes) -> tuple[Path, bytes]:
    """Write a file; return its path and its digest."""
    path = folder / f"{sha256(data).hexdigest()[:8]}.txt"
    path.write_bytes(data)
    return path, sha256(data).digest()
