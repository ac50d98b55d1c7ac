"""Header and transactions of a block as bytes, rebuilt from the JSON that a node gives.

What is rebuilt must have the hash that the node states; otherwise it is not returned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from foja.errors import Tampered
from foja.pure.proofs.evm import rlp
from foja.pure.proofs.evm.keccak import keccak256
from foja.pure.proofs.evm.rlp import Item

Object: TypeAlias = Mapping[str, Any]
_HEX = re.compile("0x[0-9a-fA-F]*")

# The fields in their order. Those after the nonce were added by forks; a chain may leave some out.
_HEADER = (
    *("parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom"),
    *("difficulty", "number", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce"),
)
_ADDED = (
    *("baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot"),
    *("requestsHash", "blockAccessListHash", "slotNumber"),
)
_NUMBERS = {
    *("difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas"),
    *("blobGasUsed", "excessBlobGas", "slotNumber"),
}


def header_bytes(block: Object) -> bytes:
    """Return the header of a block, or raise `Tampered` if its hash is not the stated one."""
    names = [*_HEADER, *_ADDED]
    while names[-1] in _ADDED and block.get(names[-1]) is None:
        names.pop()
    encoded = rlp.encode([_header_field(block, name) for name in names])
    if keccak256(encoded) != data(block.get("hash")):
        raise Tampered("the header of the block does not have the hash that the node states")
    return encoded


def _header_field(block: Object, name: str) -> bytes:
    value = block.get(name)
    if value is None and name in _ADDED:  # a later field is present
        return b""
    return rlp.number_bytes(number(value)) if name in _NUMBERS else data(value)


def transaction_bytes(transaction: Object) -> bytes | None:
    """Return a transaction as the trie holds it, or None if it cannot be rebuilt with the stated hash."""
    try:
        kind = number(transaction.get("type", "0x0"))
        if kind not in _FIELDS:
            return None
        fields = [_VALUES[name](transaction) for name in _FIELDS[kind].split()]
        encoded = (bytes([kind]) if kind else b"") + rlp.encode(fields)
        return encoded if keccak256(encoded) == data(transaction.get("hash")) else None
    except Tampered:
        return None


def number(value: object) -> int:
    """Return a quantity of JSON-RPC, or raise `Tampered`."""
    if not isinstance(value, str) or not _HEX.fullmatch(value) or not 3 <= len(value) <= 66:
        raise Tampered(f"the node gives {str(value)[:40]!a} where a number is expected")
    return int(value, 16)


def data(value: object, size: int | None = None) -> bytes:
    """Return bytes of JSON-RPC, or raise `Tampered`."""
    if not isinstance(value, str) or not _HEX.fullmatch(value) or len(value) % 2:
        raise Tampered(f"the node gives {str(value)[:40]!a} where bytes are expected")
    found = bytes.fromhex(value[2:])
    if size is not None and len(found) != size:
        raise Tampered(f"the node gives {len(found)} bytes where {size} are expected")
    return found


def _quantity(name: str) -> Callable[[Object], Item]:
    return lambda source: rlp.number_bytes(number(source.get(name)))


def _data(name: str) -> Callable[[Object], Item]:
    return lambda source: data(source.get(name))


def _receiver(source: Object) -> Item:
    return b"" if source.get("to") is None else data(source["to"], 20)


def _parity(source: Object) -> Item:
    return rlp.number_bytes(number(source.get("yParity", source.get("v"))))


def _objects(source: Object, name: str) -> list[Object]:
    items = source.get(name)
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        raise Tampered(f"the node gives no list of objects as {name}")
    return items


def _hashes(source: Object, name: str) -> list[Item]:
    items = source.get(name)
    if not isinstance(items, list):
        raise Tampered(f"the node gives no list as {name}")
    return [data(each, 32) for each in items]


def _access_list(source: Object) -> Item:
    found = _objects(source, "accessList")
    return [[data(each.get("address"), 20), _hashes(each, "storageKeys")] for each in found]


def _authorizations(source: Object) -> Item:
    found = _objects(source, "authorizationList")
    names = (_VALUES["chainId"], _data("address"), _VALUES["nonce"], _parity, _VALUES["r"], _VALUES["s"])
    return [[value(each) for value in names] for each in found]


_QUANTITIES = "nonce gasPrice gas value v r s chainId maxPriorityFeePerGas maxFeePerGas maxFeePerBlobGas"
_VALUES: dict[str, Callable[[Object], Item]] = {
    **{name: _quantity(name) for name in _QUANTITIES.split()},
    "to": _receiver,
    "input": _data("input"),
    "accessList": _access_list,
    "yParity": _parity,
    "blobVersionedHashes": lambda source: _hashes(source, "blobVersionedHashes"),
    "authorizationList": _authorizations,
}
_SIGNED = "yParity r s"
_TWO_FEES = "chainId nonce maxPriorityFeePerGas maxFeePerGas gas to value input accessList"
_FIELDS = {
    0: "nonce gasPrice gas to value input v r s",
    1: f"chainId nonce gasPrice gas to value input accessList {_SIGNED}",
    2: f"{_TWO_FEES} {_SIGNED}",
    3: f"{_TWO_FEES} maxFeePerBlobGas blobVersionedHashes {_SIGNED}",
    4: f"{_TWO_FEES} authorizationList {_SIGNED}",
}
