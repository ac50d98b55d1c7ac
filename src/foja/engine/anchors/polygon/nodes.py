"""The nodes of an installation, asked together. Where two or more are set, two must answer and all agree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from foja.engine.remote.networks.evm import Answer, EvmNode, Head, NodeRefused, Receipt, Sent, connect
from foja.errors import Unavailable
from foja.pure.proofs.evm import POLYGON
from foja.pure.proofs.evm.signer import checksum_address

Value = TypeVar("Value")
QUORUM = 2
POL = 10**18


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one node says about a batch, read in an order in which a mined transaction cannot be missed."""

    node: EvmNode
    final_count: int  # the account's next nonce in the newest final block
    latest_count: int
    finalized: int
    latest: Head
    found: tuple[bytes, Receipt] | None  # the transaction that is in a block


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes that answer, all of chain 137."""

    live: Sequence[EvmNode]
    configured: int
    troubles: Sequence[str] = ()

    async def ask(self, question: Callable[[EvmNode], Awaitable[Value]]) -> list[Value]:
        """Return the answers of all nodes that answer: at least two, where two or more are set."""
        answers, troubles = await _answers(self.live, question)
        if len(answers) < min(QUORUM, self.configured):
            raise Unavailable(_sentence([*self.troubles, *troubles]))
        return answers

    async def ask_any(self, question: Callable[[EvmNode], Awaitable[Value]]) -> list[Value]:
        """Return the answers of all nodes that answer: at least one."""
        answers, troubles = await _answers(self.live, question)
        if not answers:
            raise Unavailable(_sentence([*self.troubles, *troubles]))
        return answers

    async def send(self, raw: bytes, transaction_hash: bytes) -> Sent:
        """Send a transaction to every node. Return the best answer."""
        answers = await self.ask_any(lambda node: node.send(raw, transaction_hash))
        return min(answers, key=lambda sent: list(Answer).index(sent.answer))

    async def base_fee(self) -> int:
        """Return the highest base fee that a node sees."""
        return max(head.base_fee for head in await self.ask_any(latest_head))

    async def suggested_priority_fee(self) -> int:
        """Return the lowest priority fee that a node suggests; 0 if none does."""
        return min(await self.ask_any(_suggestion))


@asynccontextmanager
async def open_nodes(urls: Sequence[str]) -> AsyncIterator[Nodes]:
    """Yield the nodes that answer. Raise `Unavailable` if none does, or if one is of another chain."""
    if not urls:
        raise Unavailable("no Polygon node is set; set FOJA_POLYGON_RPC_URL")
    async with connect(urls) as nodes:
        live, troubles = await _answers(nodes, checked_chain)
        if not live:
            raise Unavailable(_sentence(troubles))
        yield Nodes(live, len(urls), troubles)


class WrongChain(Unavailable):
    """The node is of another chain."""


async def checked_chain(node: EvmNode) -> EvmNode:
    """Return the node, or raise `WrongChain`."""
    chain_id = await node.chain_id()
    if chain_id != POLYGON:
        raise WrongChain(
            f"{node.name} is a node of chain {chain_id}, not of Polygon ({POLYGON}); "
            "correct FOJA_POLYGON_RPC_URL"
        )
    return node


async def latest_head(node: EvmNode) -> Head:
    """Return the newest block of a node."""
    head = await node.head("latest")
    if head is None:
        raise Unavailable(f"{node.name} has no blocks yet; wait until it has caught up")
    return head


async def head_at(node: EvmNode, number: int) -> Head:
    """Return the block that a node has at a height."""
    head = await node.head(number)
    if head is None or head.number != number:
        raise Unavailable(f"{node.name} has no block {number}; wait until it has caught up")
    return head


async def check_balance(nodes: Nodes, account: bytes, price: int) -> None:
    """Raise `Unavailable` unless an account can pay this price, in wei."""
    balance = max(await nodes.ask_any(lambda node: node.balance(account)))
    if balance < price:
        raise Unavailable(too_little(account, balance, price))


def too_little(account: bytes, balance: int, price: int) -> str:
    """Return the sentence about a balance that does not pay one transaction."""
    held = f"{checksum_address(account)} has {balance / POL:.6f} POL"
    return f"{held}, less than one transaction may cost ({price / POL:.6f}); send POL to it"


async def sight(node: EvmNode, account: bytes, hashes: Sequence[bytes]) -> Sighting:
    """Ask one node about the transactions of a batch.

    The counts are read before the receipts: a transaction that used the nonce has a receipt afterwards.
    """
    finalized = await final_head(node)
    final_count = await node.transaction_count(account, "finalized")
    latest_count = await node.transaction_count(account, "latest")
    found = None
    for each in hashes:
        if receipt := await node.receipt(each):
            found = (each, receipt)
    return Sighting(node, final_count, latest_count, finalized.number, await latest_head(node), found)


async def final_head(node: EvmNode) -> Head:
    """Return the newest final block of a node."""
    try:
        head = await node.head("finalized")
    except NodeRefused as refused:
        raise Unavailable(f"{node.name} does not tell final blocks: {refused.text}; use another") from None
    if head is None:
        raise Unavailable(f"{node.name} has no final block yet; wait until it has caught up")
    return head


async def _suggestion(node: EvmNode) -> int:
    try:
        return await node.priority_fee()
    except NodeRefused:  # not every node has this method
        return 0


async def _answers(
    nodes: Sequence[EvmNode], question: Callable[[EvmNode], Awaitable[Value]]
) -> tuple[list[Value], list[str]]:
    """Return the answers, and why others are missing. A node of another chain is a fault, not an outage."""
    found = await asyncio.gather(*(question(each) for each in nodes), return_exceptions=True)
    answers, troubles = list[Value](), list[str]()
    for each in found:
        if isinstance(each, Unavailable) and not isinstance(each, WrongChain):
            troubles.append(str(each))
        elif isinstance(each, BaseException):
            raise each
        else:
            answers.append(each)
    return answers, troubles


def _sentence(troubles: Sequence[str]) -> str:
    return "too few Polygon nodes answer: " + "; ".join(troubles)
