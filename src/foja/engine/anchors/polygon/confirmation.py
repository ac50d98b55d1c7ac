"""Whether a transaction that nodes show in a block confirms its batch.

It does if the nodes agree, the block is final, deep enough and still in the chain, the transaction
succeeded, and the proof passes our own judge. A receipt alone is never believed.
"""

from __future__ import annotations

from collections.abc import Sequence

from foja import errors
from foja.engine.anchors.network import Batch, Confirmed, Progress, Refused, State, Waiting
from foja.engine.anchors.polygon.fees import proven_fee
from foja.engine.anchors.polygon.inclusion import build_inclusion
from foja.engine.anchors.polygon.nodes import Sighting, head_at
from foja.engine.anchors.polygon.state import Block, transactions, with_block
from foja.engine.remote.networks.evm import Receipt
from foja.errors import Tampered, Unavailable
from foja.pure.proofs.evm import POLYGON, base_fee_of, check_root, parse_header
from foja.pure.proofs.evm.anchor import Inclusion
from foja.pure.proofs.evm.eip1559 import ANCHOR_GAS
from foja.pure.proofs.finding import Status

POLL_SECONDS, BLOCK_SECONDS = 15.0, 2.0
MOST_SECONDS = 60.0


async def confirm(batch: Batch, sightings: Sequence[Sighting], account: bytes, depth: int) -> Progress:
    """Return whether the block that the nodes show confirms the batch."""
    txid, receipts = _agreed(sightings)
    if txid is None:
        detail = "the Polygon nodes do not agree on the block of the transaction"
        return Waiting(batch.state, POLL_SECONDS, detail)
    shown = receipts[0]
    if (missing := _missing_blocks(sightings, shown.block_number, depth)) > 0:
        detail = f"0x{txid.hex()} is in block {shown.block_number}, which is not final or not {depth} deep"
        return Waiting(batch.state, min(missing * BLOCK_SECONDS, MOST_SECONDS), detail)
    for each in sightings:
        if (await head_at(each.node, shown.block_number)).hash != shown.block_hash:
            detail = f"block {shown.block_number} is another one now"
            return Waiting(batch.state, POLL_SECONDS, detail)
    try:
        inclusion = await _build(sightings, shown.block_hash, txid)
        _judge(inclusion, batch.root, shown.block_hash, account)
    except Tampered as error:
        return _unproven(batch, sightings, str(error))
    fee = _fee(batch, txid, inclusion, receipts)
    if not all(each.succeeded for each in receipts):
        detail = f"0x{txid.hex()} failed in block {shown.block_number}"
        return Refused(batch.state, "receipt_status", detail, spent=True, fee=fee)
    block = Block(txid, shown.block_hash, shown.block_number, fee, inclusion)
    return confirmed(with_block(batch.state, block), block)


def confirmed(state: State, block: Block) -> Confirmed:
    """Return what a confirmed batch says: its block, and the block's own time."""
    return Confirmed(
        state,
        parse_header(block.inclusion.header).time,
        {
            "txid": f"0x{block.txid.hex()}",
            "block_height": block.number,
            "block_hash": f"0x{block.hash.hex()}",
        },
        (f"evm-block:0x{block.hash.hex()}",),
        block.fee,
    )


def _fee(batch: Batch, txid: bytes, inclusion: Inclusion, receipts: Sequence[Receipt]) -> int:
    """Return what was paid, as far as it is proven: the receipts are not."""
    fees = next(each.fees for each in transactions(batch.state) if each.hash == txid)
    return proven_fee(fees, base_fee_of(inclusion.header), [each.fee for each in receipts])


def nonce_of(batch: Batch) -> int:
    """Return the nonce of a batch."""
    if batch.nonce is None:
        raise errors.Refused("a batch on Polygon needs a nonce of its account; take it from the account")
    return batch.nonce


def _agreed(sightings: Sequence[Sighting]) -> tuple[bytes | None, Sequence[Receipt]]:
    """Return the transaction that all nodes show in the same block, and their receipts."""
    found = [each.found for each in sightings if each.found]
    places = {(txid, receipt.block_hash, receipt.block_number) for txid, receipt in found}
    if len(found) < len(sightings) or len(places) != 1:
        return None, ()
    return found[0][0], [receipt for _, receipt in found]


def _missing_blocks(sightings: Sequence[Sighting], number: int, depth: int) -> int:
    """Return how many blocks every node needs at least until the block is deep enough and final."""
    latest = min(each.latest.number for each in sightings)
    finalized = min(each.finalized for each in sightings)
    return max(depth - (latest - number), number - finalized)


async def _build(sightings: Sequence[Sighting], block_hash: bytes, txid: bytes) -> Inclusion:
    """Return the proof from the first node that gives one. Raise the last refusal."""
    refusal: Tampered | None = None
    for each in sightings:
        try:
            return await build_inclusion(each.node, block_hash, txid)
        except Tampered as error:
            refusal = error
        except Unavailable as error:
            outage = error
    raise refusal or outage


def _judge(inclusion: Inclusion, root: bytes, block_hash: bytes, account: bytes) -> None:
    found = check_root(inclusion, root, blocks=[block_hash], chains=[POLYGON], senders=[account])
    if found.status is not Status.VERIFIED:
        raise Tampered(f"the judge does not accept the proof ({found.reason}): {found.detail}")


def _unproven(batch: Batch, sightings: Sequence[Sighting], detail: str) -> Progress:
    """Refuse a batch whose nonce is used up for good; a receipt for one that is not used is a lie."""
    nonce = nonce_of(batch)
    if all(each.final_count > nonce for each in sightings):
        most = ANCHOR_GAS * max(each.fees.max_fee for each in transactions(batch.state))
        return Refused(batch.state, "proof_invalid", detail, spent=True, fee=most)
    return Waiting(batch.state, POLL_SECONDS, f"a node shows a receipt without a proof: {detail}")
