"""Build the proof that a block holds a transaction, from what a node says. A lie gives no proof."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from foja.engine.remote.networks.evm import EvmNode
from foja.errors import Tampered
from foja.pure.proofs.evm import POLYGON, parse_header
from foja.pure.proofs.evm.anchor import Inclusion
from foja.pure.proofs.evm.block_json import data, header_bytes, transaction_bytes
from foja.pure.proofs.evm.keccak import keccak256
from foja.pure.proofs.evm.trie_builder import build_fitting

MAX_UNKNOWN = 100  # transactions of a block that are asked for one by one


async def build_inclusion(node: EvmNode, block_hash: bytes, transaction_hash: bytes) -> Inclusion:
    """Return the proof that a block holds a transaction, or raise `Tampered` with the reason."""
    block = await node.whole_block(block_hash)
    if block is None:
        raise Tampered(f"{node.name} does not have the block 0x{block_hash.hex()}")
    header = header_bytes(block)
    if keccak256(header) != block_hash:
        raise Tampered(f"{node.name} gave another block than 0x{block_hash.hex()}")
    values = await _raw_transactions(node, block["transactions"])
    trie = await asyncio.to_thread(build_fitting, values, parse_header(header).transactions_root)
    if trie is None:
        raise Tampered(f"the transactions that {node.name} gives do not have the root that the block states")
    hashes = [keccak256(each) if each is not None else None for each in values]
    if transaction_hash not in hashes:
        raise Tampered(f"the block 0x{block_hash.hex()} does not hold 0x{transaction_hash.hex()}")
    position = hashes.index(transaction_hash)
    return Inclusion(POLYGON, header, position, trie.proof(position))


async def _raw_transactions(node: EvmNode, shown: Sequence[Mapping[str, Any]]) -> Sequence[bytes | None]:
    """Return the bytes of a block's transactions; None for those that neither we nor the node can tell."""
    values = [transaction_bytes(each) for each in shown]
    unknown = [position for position, value in enumerate(values) if value is None]
    for position in unknown[:MAX_UNKNOWN]:
        values[position] = await node.raw_transaction(data(shown[position].get("hash"), 32))
    return values
