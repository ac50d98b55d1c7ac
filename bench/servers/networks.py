"""A chain, a Bitcoin node, two calendars and a log on loopback: the counterparties of the tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.counterparties.anvil import Node, node
from tests.counterparties.bitcoin_node import BitcoinNode, bitcoin_node
from tests.counterparties.ots_calendar import Calendar, ots_calendar
from tests.counterparties.rekor import RekorLog, running_rekor
from tests.flow.networks.polygon_scene import ACCOUNT, DEPTH, FINAL, KEY

POLYGON, BITCOIN, REKOR = "polygon", "bitcoin", "rekor"
CALENDARS = 2


@dataclass
class Networks:
    """The networks that could be started, and why others could not."""

    log: RekorLog
    chain: Node | None = None
    bitcoin: BitcoinNode | None = None
    calendars: Sequence[Calendar] = ()
    remarks: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """The networks that documents can require."""
        return (*([POLYGON] if self.chain else []), *([BITCOIN] if self.bitcoin else []), REKOR)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of an installation that uses these networks."""
        found: dict[str, Any] = {"rekor_url": self.log.url, "rekor_key": self.log.vkey}
        if self.chain:
            found |= {"polygon_rpc_url": self.chain.url, "polygon_private_key": KEY, "polygon_depth": DEPTH}
        if self.bitcoin:
            found |= {
                "ots_calendars": " ".join(each.url for each in self.calendars),
                "bitcoin_rpc_url": self.bitcoin.url,
                "bitcoin_network": "regtest",
            }
        return found

    def confirm(self, network: str) -> None:
        """Put everything that was sent into blocks, deep enough. A log needs none."""
        if network == POLYGON and self.chain:
            self.chain.ask("anvil_mine", hex(2 + max(DEPTH, FINAL)))
        if network == BITCOIN and self.bitcoin:
            for calendar in self.calendars:
                calendar.anchor(self.bitcoin)
                calendar.promised.clear()
            self.bitcoin.grow(6)

    def nonce(self) -> int:
        """Return how many transactions the account has sent, those in the pool included."""
        assert self.chain is not None
        return int(self.chain.ask("eth_getTransactionCount", ACCOUNT, "pending"), 16)

    def requests(self) -> Counter[str]:
        """Return what was sent so far: transactions, digests to each calendar, entries to the log."""
        found = Counter({REKOR: self.log.posts})
        if self.chain:
            found[POLYGON] = self.nonce()
        for number, calendar in enumerate(self.calendars, 1):
            found[f"calendar {number}"] = sum(method == "POST" for method, _ in calendar.asked)
        return found

    @staticmethod
    def network_of(counterparty: str) -> str:
        """Return the network of one of those that were sent something."""
        return BITCOIN if counterparty.startswith("calendar") else counterparty


@contextmanager
def running_networks(folder: Path) -> Iterator[Networks]:
    """Run what npm can install, and the log."""
    with ExitStack() as stack:
        networks = Networks(stack.enter_context(running_rekor()))
        try:
            networks.chain = stack.enter_context(node(137, "--slots-in-an-epoch", str(FINAL // 2)))
        except pytest.skip.Exception as missing:
            networks.remarks.append(f"Polygon is left out: {missing}.")
        try:
            networks.bitcoin = stack.enter_context(bitcoin_node(folder))
            networks.bitcoin.grow(3)
            networks.calendars = [stack.enter_context(ots_calendar()) for _ in range(CALENDARS)]
        except pytest.skip.Exception as missing:
            networks.remarks.append(f"Bitcoin is left out: {missing}.")
        yield networks
