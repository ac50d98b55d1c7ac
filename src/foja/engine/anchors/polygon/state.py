"""What a batch on Polygon stores: every transaction that was signed for it, and its block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foja.engine.anchors.network import State
from foja.engine.anchors.polygon.fees import Fees
from foja.pure.proofs.evm import eip1559
from foja.pure.proofs.evm.anchor import Inclusion
from foja.pure.proofs.evm.eip1559 import Unsigned
from foja.pure.proofs.evm.transaction import parse_transaction

_TRANSACTIONS, _CONFIRMED, _REORGED = "transactions", "confirmed", "reorged"


@dataclass(frozen=True, slots=True)
class Signed:
    """A transaction that was signed, and may have been sent."""

    hash: bytes
    raw: bytes
    fees: Fees
    at: datetime

    @property
    def sender(self) -> bytes:
        """The account that signed it. A batch keeps its account when the key of the installation changes."""
        return parse_transaction(self.raw).sender


@dataclass(frozen=True, slots=True)
class Block:
    """The block that confirmed the batch, what was paid, and the proof."""

    txid: bytes
    hash: bytes
    number: int
    fee: int
    inclusion: Inclusion


def with_transaction(state: State, transaction: Unsigned, raw: bytes, at: datetime) -> State:
    """Return the state with one more signed transaction."""
    signed = {
        "hash": _text(eip1559.transaction_hash(raw)),
        "raw": _text(raw),
        "max_fee": transaction.max_fee,
        "priority_fee": transaction.priority_fee,
        "signed_at": at.isoformat(),
    }
    return {**state, _TRANSACTIONS: [*state.get(_TRANSACTIONS, []), signed]}


def transactions(state: State) -> Sequence[Signed]:
    """Return every transaction of a batch, the newest last. All have the same nonce."""
    return [
        Signed(
            _bytes(each["hash"]),
            _bytes(each["raw"]),
            Fees(each["max_fee"], each["priority_fee"]),
            datetime.fromisoformat(each["signed_at"]),
        )
        for each in state.get(_TRANSACTIONS, [])
    ]


def with_block(state: State, block: Block) -> State:
    """Return the state of a confirmed batch."""
    confirmed = {
        "txid": _text(block.txid),
        "block_hash": _text(block.hash),
        "block_height": block.number,
        "fee": str(block.fee),  # wei: more than a double holds
        "chain_id": block.inclusion.chain_id,
        "header_rlp": _text(block.inclusion.header),
        "tx_index": block.inclusion.tx_index,
        "tx_proof": [_text(each) for each in block.inclusion.tx_proof],
    }
    return {**state, _CONFIRMED: confirmed}


def confirmed_block(state: State) -> Block | None:
    """Return the block of a confirmed batch, or None."""
    found: dict[str, Any] | None = state.get(_CONFIRMED)
    if found is None:
        return None
    proof = tuple(_bytes(each) for each in found["tx_proof"])
    inclusion = Inclusion(found["chain_id"], _bytes(found["header_rlp"]), found["tx_index"], proof)
    height, fee = found["block_height"], int(found["fee"])
    return Block(_bytes(found["txid"]), _bytes(found["block_hash"]), height, fee, inclusion)


def without_block(state: State) -> State:
    """Return the state after a reorg: the transactions stay, the block that is gone is kept by its hash."""
    gone = state[_CONFIRMED]["block_hash"]
    kept = {name: value for name, value in state.items() if name != _CONFIRMED}
    return {**kept, _REORGED: [*state.get(_REORGED, []), gone]}


def _text(data: bytes) -> str:
    return f"0x{data.hex()}"


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])
