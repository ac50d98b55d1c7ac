"""Three networks on loopback, for documents that are anchored on real counterparties."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

import foja
from foja.app import App
from foja.pure.models.documents.states import State
from tests.counterparties.anvil import Node, node
from tests.counterparties.bitcoin_node import BitcoinNode, bitcoin_node
from tests.counterparties.ots_calendar import Calendar, ots_calendar
from tests.counterparties.rekor import RekorLog, running_rekor
from tests.flow.networks.polygon_scene import ACCOUNT, DEPTH, FINAL, KEY

Admin = psycopg.Connection[Any]
POLL_SECONDS = 1


@dataclass
class World:
    """Three networks on loopback."""

    chain: Node
    bitcoin: BitcoinNode
    calendars: list[Calendar]
    log: RekorLog

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "polygon_rpc_url": self.chain.url,
            "polygon_private_key": KEY,
            "polygon_depth": DEPTH,
            "ots_calendars": " ".join(each.url for each in self.calendars),
            "bitcoin_rpc_url": self.bitcoin.url,
            "bitcoin_network": "regtest",
            "rekor_url": self.log.url,
            "rekor_key": self.log.vkey,
            "anchor_batch_seconds": 0,
            "checkpoint_anchor_seconds": 0,
            "anchor_poll_seconds": POLL_SECONDS,
        }

    @property
    def paid(self) -> int:
        """How many transactions of our account are in blocks."""
        return int(self.chain.ask("eth_getTransactionCount", ACCOUNT, "latest"), 16)

    def mine(self) -> None:
        """Put what was sent to the chain into a block, deep enough."""
        self.chain.ask("anvil_mine", hex(2 + max(DEPTH, FINAL)))

    def confirm(self) -> None:
        """Put everything into blocks, deep enough."""
        self.mine()
        for calendar in self.calendars:
            calendar.anchor(self.bitcoin)
        self.bitcoin.grow(6)


@contextmanager
def running_world(folder: Path) -> Iterator[World]:
    """Run a chain, a Bitcoin node, two calendars and a log."""
    with ExitStack() as stack:
        chain = stack.enter_context(node(137, "--slots-in-an-epoch", str(FINAL // 2)))
        bitcoin = stack.enter_context(bitcoin_node(folder))
        bitcoin.grow(3)
        calendars = [stack.enter_context(ots_calendar()) for _ in range(2)]
        log = stack.enter_context(running_rekor())
        log.grow(10)
        yield World(chain, bitcoin, calendars, log)


async def look(app: App, admin: Admin) -> None:
    """Look at every batch once, and do what follows from it."""
    # A tick makes one job per slot of `anchor_poll_seconds`, however often it is due.
    await asyncio.sleep(POLL_SECONDS)
    admin.execute("update foja.anchor_batch set next_look = now() where next_look is not null")
    admin.execute("update foja.tick set due = now() where type like %s", ["process%anchors"])
    await app.work(until_idle=True)


async def work(app: App, admin: Admin, documents: list[foja.Document], state: State) -> None:
    """Look at every batch until all documents are in a state."""
    deadline = time.monotonic() + 240  # a bound for a busy machine
    while {(await each.view()).state for each in documents} != {state}:
        assert time.monotonic() < deadline, (
            [await each.explain() for each in documents],
            [(each.network, each.status, each.detail) for each in await app.anchors.list()],
        )
        await look(app, admin)
        await asyncio.sleep(0.2)
