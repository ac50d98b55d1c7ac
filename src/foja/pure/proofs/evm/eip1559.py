"""A transaction with two fees (EIP-1559, type 2): what is signed, its raw bytes, its hash."""

from __future__ import annotations

from dataclasses import dataclass

from foja.errors import Tampered
from foja.pure.proofs.evm import rlp
from foja.pure.proofs.evm.anchor import TAG
from foja.pure.proofs.evm.keccak import keccak256
from foja.pure.proofs.evm.rlp import Item
from foja.pure.proofs.evm.signer import PrivateKey
from foja.pure.proofs.evm.transaction import parse_transaction

TYPE = b"\x02"
# 36 bytes of calldata cost at most 22,440 (EIP-7623). What is not used is not paid.
ANCHOR_GAS = 30_000
_NAMES = ("chain id", "nonce", "priority fee", "fee", "gas", "receiver", "value", "calldata", "access list")


@dataclass(frozen=True, slots=True)
class Unsigned:
    """A transaction before it is signed. Fees are in wei per unit of gas."""

    chain_id: int
    nonce: int
    priority_fee: int
    max_fee: int
    gas: int
    to: bytes
    data: bytes
    value: int = 0

    @property
    def fields(self) -> list[Item]:
        """The fields in the order in which they are signed. The access list is always empty."""
        numbers = (self.chain_id, self.nonce, self.priority_fee, self.max_fee, self.gas)
        return [*map(rlp.number_bytes, numbers), self.to, rlp.number_bytes(self.value), self.data, []]

    @property
    def signed_digest(self) -> bytes:
        """The digest that is signed."""
        return keccak256(TYPE + rlp.encode(self.fields))

    @property
    def most(self) -> int:
        """The most that it can cost, in wei."""
        return self.gas * self.max_fee + self.value


def anchor_transaction(
    root: bytes, account: bytes, *, chain_id: int, nonce: int, priority_fee: int, max_fee: int
) -> Unsigned:
    """Return the transaction of an account to itself that anchors a root."""
    return Unsigned(chain_id, nonce, priority_fee, max_fee, ANCHOR_GAS, account, TAG + root)


def sign(transaction: Unsigned, key: PrivateKey) -> bytes:
    """Return the raw bytes of a signed transaction: the same bytes every time."""
    signature = map(rlp.number_bytes, key.sign(transaction.signed_digest))
    return TYPE + rlp.encode([*transaction.fields, *signature])


def transaction_hash(raw: bytes) -> bytes:
    """Return the hash by which every node knows a transaction."""
    return keccak256(raw)


def check_signed(raw: bytes, expected: Unsigned, account: bytes) -> None:
    """Raise `Tampered` unless these bytes are this transaction, signed by this account."""
    if raw[:1] != TYPE:
        raise Tampered("the signed transaction is not of type 2")
    fields = rlp.decode_list(raw[1:])
    for name, signed, wanted in zip(_NAMES, fields, expected.fields, strict=False):
        if signed != wanted:
            raise Tampered(f"the signed transaction has another {name}")
    sender = parse_transaction(raw).sender
    if sender != account:
        raise Tampered(f"the transaction is signed by 0x{sender.hex()}, not by 0x{account.hex()}")
