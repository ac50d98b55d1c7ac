"""EVM chains: does a trusted block hold a transaction that anchors this digest?

E1 the header's hash, its number and time read from its own bytes · E2 the transaction in the
block's trie, and its chain · E3 its sender, recovered · E4 its calldata: our tag and a root ·
E5 the salted digest under that root · E6 the block is a trusted one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from foja.errors import Tampered
from foja.pure.core.event import from_seconds
from foja.pure.core.merkle import check_inclusion, leaf_hash
from foja.pure.proofs.evm import rlp
from foja.pure.proofs.evm.anchor import TAG, Anchor, Inclusion, parse_anchor
from foja.pure.proofs.evm.keccak import keccak256
from foja.pure.proofs.evm.transaction import Transaction, parse_transaction
from foja.pure.proofs.evm.trie import value_at
from foja.pure.proofs.finding import Finding, Flaw, Reason, Status, TrustItem, flaw_if_tampered
from foja.pure.proofs.notices import CHAIN_NOTICE, TEST_NOTICE

POLYGON = 137
# Ethereum, OP, BNB, Gnosis, Polygon, Base, Arbitrum, Avalanche; and the test networks of these and of tools.
MAIN_CHAINS = frozenset({1, 10, 56, 100, POLYGON, 8453, 42161, 43114})
TEST_CHAINS = frozenset(
    {
        3,
        4,
        5,
        42,
        97,
        1337,
        10200,
        17000,
        31337,
        43113,
        80001,
        80002,
        84532,
        421614,
        560048,
        11155111,
        11155420,
    }
)
_TRANSACTIONS_ROOT, _NUMBER, _TIME, _BASE_FEE = 4, 8, 11, 15
_FEWEST_FIELDS, MAX_FIELDS = 15, 40


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
    return _judge(anchor.inclusion, partial(_check_batch, anchor, digest), blocks, chains, senders)


def check_root(
    inclusion: Inclusion,
    root: bytes,
    *,
    blocks: Collection[bytes] = (),
    chains: Collection[int] = (),
    senders: Collection[bytes] = (),
) -> Finding:
    """Return what a transaction in a block shows about the root of a batch, as `check` does for a digest."""
    return _judge(inclusion, partial(_check_same_root, root), blocks, chains, senders)


def raw_transaction(block: Block, inclusion: Inclusion) -> bytes:
    """Return the bytes of the transaction that a proof leads to, or raise `Tampered`."""
    key = rlp.encode(rlp.number_bytes(inclusion.tx_index))
    return value_at(block.transactions_root, key, inclusion.tx_proof)


def _judge(
    inclusion: Inclusion,
    check_anchored: Callable[[bytes], None],
    blocks: Collection[bytes],
    chains: Collection[int],
    senders: Collection[bytes],
) -> Finding:
    # Only the Polygon main chain is called `polygon`.
    evidence = "polygon" if inclusion.chain_id == POLYGON else f"evm:{inclusion.chain_id}"
    try:
        with flaw_if_tampered(Reason.HEADER_INVALID):
            block = parse_header(inclusion.header)
        with flaw_if_tampered(Reason.TX_PROOF_INVALID):
            transaction = parse_transaction(raw_transaction(block, inclusion))
        check_anchored(_anchored_root(inclusion, transaction))
        _check_trust(inclusion.chain_id, transaction.sender, chains, senders)
    except Flaw as flaw:
        return flaw.finding(evidence)
    return _found(evidence, block, transaction, blocks, has_senders=bool(senders))


def _found(
    evidence: str, block: Block, transaction: Transaction, blocks: Collection[bytes], *, has_senders: bool
) -> Finding:
    """E6: the finding about a proof that is valid, for a block that is trusted or not."""
    name, sender = f"block {block.number} of chain {transaction.chain_id}", f"0x{transaction.sender.hex()}"
    item = TrustItem("block", name, f"0x{block.hash.hex()}")
    if block.hash not in blocks:
        detail = f"{name} (0x{block.hash.hex()}) holds it, but is not a block you trust"
        return Finding(evidence, Status.INDETERMINATE, Reason.BLOCK_NOT_TRUSTED, detail, missing=(item,))
    detail = f"{name} (0x{block.hash.hex()}) holds a transaction of {sender} that anchors it"
    account = () if has_senders else (f"whose account {sender} is",)
    not_checked = (*_chain_notices(transaction.chain_id), *account)
    found = Finding(evidence, Status.VERIFIED, None, detail, block.time, name, not_checked)
    return replace(found, rests_on=(item,))


def _chain_notices(chain_id: int) -> tuple[str, ...]:
    """Anyone can make blocks of a test network or of a private chain, for any time."""
    if chain_id in TEST_CHAINS:
        return (TEST_NOTICE,)
    return () if chain_id in MAIN_CHAINS else (CHAIN_NOTICE,)


def parse_header(data: bytes) -> Block:
    """Return the fields of a header, or raise `Tampered`. Forks may add fields at its end."""
    fields = rlp.decode_list(data)
    if not _FEWEST_FIELDS <= len(fields) <= MAX_FIELDS:
        raise Tampered(f"a block header has {len(fields)} fields, not {_FEWEST_FIELDS} to {MAX_FIELDS}")
    seconds = rlp.number(fields[_TIME])
    time = from_seconds(seconds)
    if time is None:
        raise Tampered(f"a block's time of {seconds} seconds is beyond the calendar")
    root = rlp.bytes_at(fields, _TRANSACTIONS_ROOT)
    return Block(keccak256(data), root, rlp.number(fields[_NUMBER]), time)


def base_fee_of(header: bytes) -> int | None:
    """Return the base fee of a block in wei per unit of gas, or None if its header has none."""
    fields = rlp.decode_list(header)
    return rlp.number(fields[_BASE_FEE]) if len(fields) > _BASE_FEE else None


def _anchored_root(inclusion: Inclusion, transaction: Transaction) -> bytes:
    """E2 and E4: return the root in the calldata of a transaction of this chain."""
    if transaction.chain_id != inclusion.chain_id:
        detail = f"the transaction is for chain {transaction.chain_id}, not {inclusion.chain_id}"
        raise Flaw(Reason.TX_PROOF_INVALID, detail)
    tag, root = transaction.data[: len(TAG)], transaction.data[len(TAG) :]
    if tag != TAG or len(root) != 32:
        raise Flaw(Reason.CALLDATA_MISMATCH, "the calldata of the transaction is not the tag and a root")
    return root


def _check_batch(anchor: Anchor, digest: bytes, root: bytes) -> None:
    """E5: the batch with this root holds the digest."""
    batch = anchor.batch
    leaf = leaf_hash(batch.salt + digest)  # salted, because the other leaves of the batch are shown
    with flaw_if_tampered(Reason.BATCH_ROOT_MISMATCH):
        check_inclusion(leaf, batch.index, batch.size, batch.path, root)


def _check_same_root(expected: bytes, root: bytes) -> None:
    if root != expected:
        raise Flaw(Reason.CALLDATA_MISMATCH, "the calldata of the transaction holds another root")


def _check_trust(chain_id: int, sender: bytes, chains: Collection[int], senders: Collection[bytes]) -> None:
    if chains and chain_id not in chains:
        detail = f"chain {chain_id} is not one you trust"
        raise Flaw(Reason.CHAIN_NOT_TRUSTED, detail, Status.INDETERMINATE)
    if senders and sender not in senders:
        detail = f"its sender 0x{sender.hex()} is not one you trust"
        raise Flaw(Reason.SENDER_NOT_TRUSTED, detail, Status.INDETERMINATE)
