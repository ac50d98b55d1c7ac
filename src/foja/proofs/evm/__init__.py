"""EVM chains: does a block that somebody trusts hold a transaction that anchors this digest?

E1 the header's hash, its number and time read from its own bytes · E2 the transaction in the
block's trie, and its chain · E3 its sender, recovered · E4 what it says: our tag and a root ·
E5 the digest, salted, under that root · E6 the block is one that was named.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from foja.core.merkle import check_inclusion, leaf_hash
from foja.errors import Tampered
from foja.proofs.evm import rlp
from foja.proofs.evm.anchor import TAG, Anchor, Batch, parse_anchor
from foja.proofs.evm.keccak import keccak256
from foja.proofs.evm.transaction import Transaction, parse_transaction
from foja.proofs.evm.trie import value_at
from foja.proofs.finding import Finding, Reason, Status

POLYGON = 137
_TRANSACTIONS_ROOT, _NUMBER, _TIME = 4, 8, 11
_FEWEST_FIELDS, _MOST_FIELDS = 15, 40


@dataclass(frozen=True, slots=True)
class Block:
    """What a block's header says of itself."""

    hash: bytes
    transactions_root: bytes
    number: int
    time: datetime


def check(
    data: bytes,
    digest: bytes,
    *,
    blocks: Collection[bytes] = (),
    chains: Collection[int] = (),
    senders: Collection[bytes] = (),
) -> Finding:
    """Return what an EVM proof shows about a SHA-256 digest. Never raises for what it is given.

    `blocks` are the hashes that are trusted; `chains` and `senders`, if any, the only ones that count.
    """
    try:
        anchor = parse_anchor(data)
    except Tampered as error:
        return Finding("evm", Status.INVALID, Reason.MALFORMED, str(error))
    evidence = evidence_of(anchor.chain_id)
    try:
        block = parse_header(anchor.header)
    except Tampered as error:
        return Finding(evidence, Status.INVALID, Reason.HEADER_INVALID, str(error))
    try:
        key = rlp.encode(_spelled(anchor.tx_index))
        transaction = parse_transaction(value_at(block.transactions_root, key, anchor.tx_proof))
    except Tampered as error:
        return Finding(evidence, Status.INVALID, Reason.TX_PROOF_INVALID, str(error))
    return _anchored(anchor, block, transaction, digest) or _trusted(
        anchor, block, transaction, blocks, chains, senders
    )


def evidence_of(chain_id: int) -> str:
    """Return the name of the evidence a chain gives; only the real Polygon is `polygon`."""
    return "polygon" if chain_id == POLYGON else f"evm:{chain_id}"


def parse_header(data: bytes) -> Block:
    """Return what a header says, whatever fields its fork has added at the end, or raise `Tampered`."""
    fields = rlp.decode_list(data)
    if not _FEWEST_FIELDS <= len(fields) <= _MOST_FIELDS:
        raise Tampered(f"a block's header has {len(fields)} fields")
    seconds = rlp.number(fields[_TIME])
    try:
        time = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise Tampered(f"a block's time of {seconds} seconds is beyond all calendars") from None
    root = rlp.text(fields, _TRANSACTIONS_ROOT)
    return Block(keccak256(data), root, rlp.number(fields[_NUMBER]), time)


def batch_leaf(salt: bytes, digest: bytes) -> bytes:
    """Return the leaf of a digest in a batch; salted, since its neighbours see it."""
    return leaf_hash(salt + digest)


def _anchored(anchor: Anchor, block: Block, transaction: Transaction, digest: bytes) -> Finding | None:
    """Return what does not fit, if anything."""
    evidence = evidence_of(anchor.chain_id)
    if transaction.chain_id != anchor.chain_id:
        detail = f"the transaction is for chain {transaction.chain_id}, not {anchor.chain_id}"
        return Finding(evidence, Status.INVALID, Reason.TX_PROOF_INVALID, detail)
    tag, root = transaction.data[: len(TAG)], transaction.data[len(TAG) :]
    if tag != TAG or len(root) != 32:
        detail = "the transaction says something else than the tag and a root"
        return Finding(evidence, Status.INVALID, Reason.CALLDATA_MISMATCH, detail)
    try:
        _check_batch(anchor.batch, digest, root)
    except Tampered as error:
        return Finding(evidence, Status.INVALID, Reason.BATCH_ROOT_MISMATCH, str(error))
    return None


def _check_batch(batch: Batch, digest: bytes, root: bytes) -> None:
    check_inclusion(batch_leaf(batch.salt, digest), batch.index, batch.size, batch.path, root)


def _trusted(
    anchor: Anchor,
    block: Block,
    transaction: Transaction,
    blocks: Collection[bytes],
    chains: Collection[int],
    senders: Collection[bytes],
) -> Finding:
    evidence, sender = evidence_of(anchor.chain_id), f"0x{transaction.sender.hex()}"
    name = f"block {block.number} of chain {anchor.chain_id}"
    if chains and anchor.chain_id not in chains:
        detail = f"chain {anchor.chain_id} is not one you trust"
        return Finding(evidence, Status.INDETERMINATE, Reason.CHAIN_NOT_TRUSTED, detail)
    if senders and transaction.sender not in senders:
        detail = f"it was sent by {sender}, whom you do not trust"
        return Finding(evidence, Status.INDETERMINATE, Reason.SENDER_NOT_TRUSTED, detail)
    if block.hash not in blocks:
        detail = f"{name} (0x{block.hash.hex()}) holds it, and nobody you trust says that it is final"
        return Finding(evidence, Status.INDETERMINATE, Reason.BLOCK_NOT_TRUSTED, detail)
    detail = f"{name} (0x{block.hash.hex()}) holds a transaction of {sender} that anchors it"
    missed = () if senders else (f"whose account {sender} is",)
    return Finding(evidence, Status.VERIFIED, None, detail, block.time, name, missed)


def _spelled(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
