"""EVM chains: does a trusted block hold a transaction that anchors this digest?

E1 the header's hash, its number and time read from its own bytes · E2 the transaction in the
block's trie, and its chain · E3 its sender, recovered · E4 its calldata: our tag and a root ·
E5 the salted digest under that root · E6 the block is a trusted one.
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
    """The fields of a block header that a proof needs."""

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
    """Return what an EVM proof shows about a SHA-256 digest. No input makes it raise.

    `blocks` are the trusted hashes; `chains` and `senders`, if any are given, are the only ones accepted.
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
        key = rlp.encode(_number_bytes(anchor.tx_index))
        transaction = parse_transaction(value_at(block.transactions_root, key, anchor.tx_proof))
    except Tampered as error:
        return Finding(evidence, Status.INVALID, Reason.TX_PROOF_INVALID, str(error))
    return _check_anchor(anchor, transaction, digest) or _check_trust(
        anchor, block, transaction, blocks, chains, senders
    )


def evidence_of(chain_id: int) -> str:
    """Return the name of a chain's evidence; only the Polygon main chain is `polygon`."""
    return "polygon" if chain_id == POLYGON else f"evm:{chain_id}"


def parse_header(data: bytes) -> Block:
    """Return the fields of a header, or raise `Tampered`. Forks may add fields at its end."""
    fields = rlp.decode_list(data)
    if not _FEWEST_FIELDS <= len(fields) <= _MOST_FIELDS:
        raise Tampered(f"a block header has {len(fields)} fields, not {_FEWEST_FIELDS} to {_MOST_FIELDS}")
    seconds = rlp.number(fields[_TIME])
    try:
        time = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise Tampered(f"a block's time of {seconds} seconds is beyond the calendar") from None
    root = rlp.bytes_at(fields, _TRANSACTIONS_ROOT)
    return Block(keccak256(data), root, rlp.number(fields[_NUMBER]), time)


def batch_leaf(salt: bytes, digest: bytes) -> bytes:
    """Return the leaf of a digest in a batch; salted, because the other leaves of the batch are shown."""
    return leaf_hash(salt + digest)


def _check_anchor(anchor: Anchor, transaction: Transaction, digest: bytes) -> Finding | None:
    """Return what is wrong with the anchor, or None."""
    evidence = evidence_of(anchor.chain_id)
    if transaction.chain_id != anchor.chain_id:
        detail = f"the transaction is for chain {transaction.chain_id}, not {anchor.chain_id}"
        return Finding(evidence, Status.INVALID, Reason.TX_PROOF_INVALID, detail)
    tag, root = transaction.data[: len(TAG)], transaction.data[len(TAG) :]
    if tag != TAG or len(root) != 32:
        detail = "the calldata of the transaction is not the tag and a root"
        return Finding(evidence, Status.INVALID, Reason.CALLDATA_MISMATCH, detail)
    try:
        _check_batch(anchor.batch, digest, root)
    except Tampered as error:
        return Finding(evidence, Status.INVALID, Reason.BATCH_ROOT_MISMATCH, str(error))
    return None


def _check_batch(batch: Batch, digest: bytes, root: bytes) -> None:
    check_inclusion(batch_leaf(batch.salt, digest), batch.index, batch.size, batch.path, root)


def _check_trust(
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
        detail = f"its sender {sender} is not one you trust"
        return Finding(evidence, Status.INDETERMINATE, Reason.SENDER_NOT_TRUSTED, detail)
    if block.hash not in blocks:
        detail = f"{name} (0x{block.hash.hex()}) holds it, but is not a block you trust"
        return Finding(evidence, Status.INDETERMINATE, Reason.BLOCK_NOT_TRUSTED, detail)
    detail = f"{name} (0x{block.hash.hex()}) holds a transaction of {sender} that anchors it"
    not_checked = () if senders else (f"whose account {sender} is",)
    return Finding(evidence, Status.VERIFIED, None, detail, block.time, name, not_checked)


def _number_bytes(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
