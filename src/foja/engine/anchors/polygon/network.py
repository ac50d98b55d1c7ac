"""The network `polygon`: check, draft, send, look, watch, prove.

A replacement is signed by one `look` and sent by the next: nothing is sent before its hash is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cached_property

from foja import errors
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
from foja.engine.anchors.polygon.confirmation import POLL_SECONDS, confirm, confirmed, nonce_of
from foja.engine.anchors.polygon.fees import Fees, first_fees, replacement_fees
from foja.engine.anchors.polygon.nodes import Nodes, Sighting, check_balance, head_at, open_nodes, sight
from foja.engine.anchors.polygon.readiness import readiness
from foja.engine.anchors.polygon.signers import Signer, open_signer
from foja.engine.anchors.polygon.state import (
    Signed,
    confirmed_block,
    transactions,
    with_transaction,
    without_block,
)
from foja.engine.anchors.polygon.terms import PolygonTerms
from foja.engine.remote.networks.evm import Answer
from foja.errors import SetupFailed, Tampered, Unavailable
from foja.pure.proofs.evm import POLYGON
from foja.pure.proofs.evm.anchor import Batch as BatchPlace
from foja.pure.proofs.evm.eip1559 import ANCHOR_GAS, Unsigned, anchor_transaction
from foja.pure.proofs.evm.signer import checksum_address

MOST_SECONDS = 60.0  # for all questions of one step


def _now() -> datetime:
    return datetime.now(UTC)


class Polygon:
    """Anchors on Polygon. It has no memory except its settings and its key."""

    name = "polygon"

    def __init__(self, terms: PolygonTerms, *, clock: Callable[[], datetime] = _now) -> None:
        self._terms, self._clock = terms, clock

    @property
    def account(self) -> str:
        """The account that pays. Raise `SetupFailed` if the key cannot be read."""
        return checksum_address(self._signer.address)

    async def check(self) -> Readiness:
        """Ask nodes, key and balance whether anchors can be made now."""
        return await readiness(self._terms, self._open_signer)

    async def draft(self, root: bytes, nonce: int | None) -> Drafted:
        """Sign a transaction with this nonce. Nothing is sent.

        Raise `Unavailable` if the base fee is over the cap, the balance too low, or if node or signer do
        not answer; `Tampered` if the signer signed something else; `SetupFailed` if there is no key.
        """
        if nonce is None:
            raise errors.Refused("a batch on Polygon needs a nonce of its account; take it from the account")
        signer = await self._open_signer()
        async with self._nodes() as nodes:
            fees = first_fees(self._terms, await nodes.base_fee(), await nodes.suggested_priority_fee())
            transaction = _transaction(root, signer, nonce, fees)
            await check_balance(nodes, signer.address, transaction.most)
        raw = await signer.sign(transaction)
        # Replacements are part of what the batch may cost.
        return Drafted(
            with_transaction({}, transaction, raw, self._clock()), ANCHOR_GAS * self._terms.max_fee
        )

    async def send(self, batch: Batch) -> Progress:
        """Send the newest transaction of the batch, or send it again: the same bytes."""
        signed = transactions(batch.state)
        if not signed:
            return _without_transaction(batch)
        async with self._nodes() as nodes:
            return Waiting(batch.state, POLL_SECONDS, await _send(nodes, signed[-1]))

    async def look(self, batch: Batch) -> Progress:
        """Ask whether a transaction of the batch is confirmed. Send again what a pool lost, replace what is
        stuck."""
        signed = transactions(batch.state)
        if not signed:
            return _without_transaction(batch)
        account, hashes = signed[-1].sender, [each.hash for each in signed]
        async with self._nodes() as nodes:
            sightings = await nodes.ask(lambda node: sight(node, account, hashes))
            if any(each.found for each in sightings):
                return await confirm(batch, sightings, account, self._terms.depth)
            return await self._unseen(nodes, batch, signed[-1], sightings)

    async def watch(self, batch: Batch) -> Confirmed | Refused:
        """Ask whether the block of a confirmed batch is still in the chain."""
        block = confirmed_block(batch.state)
        if block is None:
            raise errors.Refused("the batch is not confirmed, so there is no block to watch; look at it")
        async with self._nodes() as nodes:
            heads = await nodes.ask(lambda node: head_at(node, block.number))
        hashes = {each.hash for each in heads}
        if len(hashes) > 1:
            raise Unavailable(f"the Polygon nodes do not agree on block {block.number}; nothing was decided")
        if block.hash in hashes:
            return confirmed(batch.state, block)
        detail = f"block {block.number} is 0x{hashes.pop().hex()} now, not 0x{block.hash.hex()}"
        # The transactions may still be mined: their nonce stays with this batch.
        return Refused(without_block(batch.state), "reorged", detail, spent=True)

    def prove(self, batch: Batch, place: Place) -> bytes:
        """Return the proof of one digest of a confirmed batch: the file `x.evm.json`."""
        block = confirmed_block(batch.state)
        if block is None:
            raise errors.Refused("the batch is not confirmed, so there is no proof yet; look at it")
        found = BatchPlace(place.size, place.index, place.salt, tuple(place.path))
        return block.inclusion.anchor(found).encode()

    async def _unseen(
        self, nodes: Nodes, batch: Batch, newest: Signed, sightings: Sequence[Sighting]
    ) -> Progress:
        """Decide about a batch that is in no block."""
        nonce, used = nonce_of(batch), min(each.latest_count for each in sightings)
        if all(each.final_count > nonce for each in sightings):
            detail = f"another transaction of the account used nonce {nonce} in a final block"
            return Refused(batch.state, "nonce_spent", detail, spent=True)
        if used > nonce:
            detail = f"another transaction of the account used nonce {nonce} in a block that is not final yet"
            return Waiting(batch.state, POLL_SECONDS, detail)
        detail = await _keep_in_pool(nodes, newest)
        if used < nonce:
            detail = f"{detail}; it waits for nonce {used} of the account"
        elif (self._clock() - newest.at).total_seconds() >= self._terms.replace_after_seconds:
            return await self._replace(nodes, batch, newest, detail)
        return Waiting(batch.state, POLL_SECONDS, detail)

    async def _replace(self, nodes: Nodes, batch: Batch, newest: Signed, detail: str) -> Waiting:
        """Sign the transaction again with higher fees and the same nonce. The next look sends it."""
        fees = replacement_fees(self._terms, newest.fees, await nodes.base_fee())
        if fees is None:
            cap = f"the fee cap of {self._terms.max_fee_gwei:g} gwei (FOJA_POLYGON_MAX_FEE_GWEI)"
            return Waiting(batch.state, POLL_SECONDS, f"{detail}; it is stuck, and {cap} allows no more")
        try:
            signer = await self._open_signer()
            _check_same_account(signer, newest)
            transaction = _transaction(batch.root, signer, nonce_of(batch), fees)
            raw = await signer.sign(transaction)
        except (Unavailable, Tampered, SetupFailed) as error:
            return Waiting(batch.state, POLL_SECONDS, f"{detail}; it is stuck and was not replaced: {error}")
        state = with_transaction(batch.state, transaction, raw, self._clock())
        detail = f"{detail}; it is stuck, and a replacement with a higher fee is signed"
        return Waiting(state, 0, detail, transaction.most)

    @asynccontextmanager
    async def _nodes(self) -> AsyncIterator[Nodes]:
        """Yield the nodes that answer. Raise `Unavailable` if all questions together take too long."""
        try:
            async with (
                asyncio.timeout(MOST_SECONDS),
                open_nodes(self._terms.rpc_urls) as nodes,
            ):
                yield nodes
        except TimeoutError:
            raise Unavailable(f"the Polygon nodes took more than {MOST_SECONDS:g} s; ask again") from None

    async def _open_signer(self) -> Signer:
        return await asyncio.to_thread(lambda: self._signer)

    @cached_property
    def _signer(self) -> Signer:
        return open_signer(self._terms)


def _transaction(root: bytes, signer: Signer, nonce: int, fees: Fees) -> Unsigned:
    return anchor_transaction(
        root,
        signer.address,
        chain_id=POLYGON,
        nonce=nonce,
        priority_fee=fees.priority_fee,
        max_fee=fees.max_fee,
    )


def _check_same_account(signer: Signer, newest: Signed) -> None:
    if signer.address != newest.sender:
        old, new = checksum_address(newest.sender), checksum_address(signer.address)
        raise SetupFailed(f"the key is that of {new}, and the batch is of {old}; set that key again")


def _without_transaction(batch: Batch) -> Refused:
    return Refused(batch.state, "missing_tx_hash", "no transaction is stored for the batch")


async def _keep_in_pool(nodes: Nodes, newest: Signed) -> str:
    """Send a transaction again if no node has it. Return where it is."""
    if any(await nodes.ask_any(lambda node: node.knows(newest.hash))):
        return f"0x{newest.hash.hex()} is in the pool"
    return await _send(nodes, newest)


async def _send(nodes: Nodes, signed: Signed) -> str:
    sent, name = await nodes.send(signed.raw, signed.hash), f"0x{signed.hash.hex()}"
    match sent.answer:
        case Answer.ACCEPTED:
            return f"{name} was sent"
        case Answer.KNOWN:
            return f"{name} is in the pool"
        case Answer.NONCE_USED:
            return f"the nonce of {name} is used, by this transaction or by another"
        case Answer.REFUSED:
            return f"{name} was refused ({sent.detail})"
