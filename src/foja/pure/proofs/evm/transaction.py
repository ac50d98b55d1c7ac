"""A signed transaction: its chain, its sender and its calldata."""

from __future__ import annotations

from dataclasses import dataclass

from foja.errors import Tampered
from foja.pure.proofs.evm import rlp
from foja.pure.proofs.evm.keccak import keccak256
from foja.pure.proofs.evm.rlp import Item
from foja.pure.proofs.evm.secp256k1 import recover

# For each type: the number of fields and the index of the calldata. The last three fields are the signature.
_TYPED = {1: (11, 6), 2: (12, 7), 4: (13, 7)}
_LEGACY, _LEGACY_DATA = 9, 5


@dataclass(frozen=True, slots=True)
class Transaction:
    """The fields that a proof needs; the sender is recovered from the signature."""

    chain_id: int
    sender: bytes
    data: bytes


def parse_transaction(raw: bytes) -> Transaction:
    """Return a transaction as the trie holds it, or raise `Tampered`."""
    if raw[:1] >= b"\xc0":
        return _legacy(rlp.decode_list(raw))
    kind = raw[0] if raw else 0
    if kind not in _TYPED:
        raise Tampered(f"transactions of type {kind} are not supported")
    fields = rlp.decode_list(raw[1:])
    count, data = _TYPED[kind]
    if len(fields) != count:
        raise Tampered(f"a transaction of type {kind} has {count} fields, not {len(fields)}")
    signed = keccak256(raw[:1] + rlp.encode(fields[:-3]))
    parity = rlp.number(fields[-3])
    return Transaction(rlp.number(fields[0]), _sender(signed, parity, fields), rlp.bytes_at(fields, data))


def _legacy(fields: list[Item]) -> Transaction:
    """Return a transaction without a type; its chain is part of its signature (EIP-155)."""
    if len(fields) != _LEGACY:
        raise Tampered(f"a transaction without a type has {_LEGACY} fields, not {len(fields)}")
    chain_id, parity = divmod(rlp.number(fields[6]) - 35, 2)
    if chain_id < 1:
        raise Tampered("the transaction does not name its chain")
    signed = keccak256(rlp.encode([*fields[:6], rlp.number_bytes(chain_id), b"", b""]))
    return Transaction(chain_id, _sender(signed, parity, fields), rlp.bytes_at(fields, _LEGACY_DATA))


def _sender(signed: bytes, parity: int, fields: list[Item]) -> bytes:
    if parity not in (0, 1):
        raise Tampered("the signature of the transaction has a parity that is neither 0 nor 1")
    key = recover(signed, rlp.number(fields[-2]), rlp.number(fields[-1]), odd=parity == 1)
    return keccak256(key)[12:]
