"""A digest anchored on a real EVM node, judged from what the node says and nothing else."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import rlp
from eth_hash.auto import keccak

from foja.pure.proofs.evm import check
from foja.pure.proofs.evm.anchor import TAG, Anchor
from foja.pure.proofs.finding import Reason, Status
from tests.counterparties.anvil import Node, node
from tests.rules.blocks import Trie, batch

FIELDS = [
    "parentHash",
    "sha3Uncles",
    "miner",
    "stateRoot",
    "transactionsRoot",
    "receiptsRoot",
    "logsBloom",
    "difficulty",
    "number",
    "gasLimit",
    "gasUsed",
    "timestamp",
    "extraData",
    "mixHash",
    "nonce",
    "baseFeePerGas",
    "withdrawalsRoot",
    "blobGasUsed",
    "excessBlobGas",
    "parentBeaconBlockRoot",
    "requestsHash",
]
NUMBERS = {"difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas"}
NUMBERS |= {"blobGasUsed", "excessBlobGas"}


def header_of(block: dict[str, Any]) -> bytes:
    fields = [name for name in FIELDS if block.get(name) is not None]
    encoded: bytes = rlp.encode([int(block[n], 16) if n in NUMBERS else data(block[n]) for n in fields])
    return encoded


def data(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def mined(chain: Node, root: bytes) -> tuple[dict[str, Any], int]:
    """Send an anchor among other transactions and mine them all into one block."""
    accounts = chain.ask("eth_accounts")
    for each in range(20):
        send = {"from": accounts[each % 5], "to": accounts[9], "data": f"0x{each:064x}"}
        chain.ask("eth_sendTransaction", send)
    call = {"from": accounts[7], "to": accounts[7], "data": f"0x{(TAG + root).hex()}"}
    anchoring = chain.ask("eth_sendTransaction", call)
    chain.ask("anvil_mine", "0x1")
    receipt = chain.ask("eth_getTransactionReceipt", anchoring)
    block = chain.ask("eth_getBlockByHash", receipt["blockHash"], False)
    return block, int(receipt["transactionIndex"], 16)


def test_a_block_of_a_real_node() -> None:
    digest = sha256(b"document").digest()
    root, place = batch(digest, 1000, 700)
    with node(137) as chain:
        block, position = mined(chain, root)
        raw = [data(chain.ask("eth_getRawTransactionByHash", each)) for each in block["transactions"]]
        sender = data(chain.ask("eth_accounts")[7])
    trie, header = Trie(raw), header_of(block)
    assert len(raw) == 21
    assert keccak(header) == data(block["hash"])
    assert trie.root == data(block["transactionsRoot"])
    proof = Anchor(137, header, position, trie.proof(position), place).encode()
    found = check(proof, digest, blocks=[data(block["hash"])], chains=[137], senders=[sender])
    assert (found.status, found.evidence) == (Status.VERIFIED, "polygon")
    assert check(proof, digest).reason is Reason.BLOCK_NOT_TRUSTED
    assert check(proof, sha256(b"other").digest()).reason is Reason.BATCH_ROOT_MISMATCH
