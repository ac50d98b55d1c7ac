"""The file `x.evm.json` (docs/verify.md): a block header, a transaction in it, a batch in the transaction.

Closed and canonical: a proof has one encoding, and unknown fields are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foja.errors import NotCanonical, Tampered
from foja.pure.core.canonical import Json, canonical, parse
from foja.pure.quotation import quoted

FORM = "foja/evm/v1"
TAG = b"LDG1"
MAX_BYTES = 1024 * 1024
_FIELDS = {"form", "chain_id", "header_rlp", "tx_index", "tx_proof", "calldata_tag", "batch"}
_BATCH = {"size", "index", "salt", "path"}
_HEX = re.compile("0x(?:[0-9a-f]{2})*")
MAX_INDEX, MAX_ITEMS = 1_000_000, 64


@dataclass(frozen=True, slots=True)
class Batch:
    """The position of a digest among those that one transaction anchors."""

    size: int
    index: int
    salt: bytes
    path: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A transaction in a block: what the proofs of a whole batch share."""

    chain_id: int
    header: bytes
    tx_index: int
    tx_proof: tuple[bytes, ...]

    def anchor(self, batch: Batch) -> Anchor:
        """Return the proof for one digest of the batch."""
        return Anchor(self.chain_id, self.header, self.tx_index, self.tx_proof, batch)


@dataclass(frozen=True, slots=True)
class Anchor:
    """A whole proof. Nothing in it is checked yet."""

    chain_id: int
    header: bytes
    tx_index: int
    tx_proof: tuple[bytes, ...]
    batch: Batch

    @property
    def inclusion(self) -> Inclusion:
        """The transaction in its block."""
        return Inclusion(self.chain_id, self.header, self.tx_index, self.tx_proof)

    def encode(self) -> bytes:
        """Return the proof as it is written to a file."""
        return canonical(
            {
                "form": FORM,
                "chain_id": self.chain_id,
                "header_rlp": _text(self.header),
                "tx_index": self.tx_index,
                "tx_proof": [_text(each) for each in self.tx_proof],
                "calldata_tag": _text(TAG),
                "batch": {
                    "size": self.batch.size,
                    "index": self.batch.index,
                    "salt": _text(self.batch.salt),
                    "path": [_text(each) for each in self.batch.path],
                },
            }
        )


def parse_anchor(data: bytes) -> Anchor:
    """Return the proof in a file, or raise `Tampered`."""
    if len(data) > MAX_BYTES:
        raise Tampered(f"an EVM proof of {len(data)} bytes is over the limit of {MAX_BYTES}")
    try:
        anchor = _anchor(_object(parse(data), _FIELDS))
        encoded = anchor.encode()
    except NotCanonical as error:
        raise Tampered(f"not an EVM proof: {error}") from None
    if encoded != data.removesuffix(b"\n"):
        raise Tampered("the EVM proof is not in canonical form (RFC 8785)")
    return anchor


def _anchor(fields: Mapping[str, Json]) -> Anchor:
    if fields["form"] != FORM or fields["calldata_tag"] != _text(TAG):
        raise Tampered(f"not an EVM proof of the form {FORM}")
    batch = _object(fields["batch"], _BATCH)
    return Anchor(
        chain_id=_count(fields["chain_id"]),
        header=_bytes(fields["header_rlp"]),
        tx_index=_count(fields["tx_index"], most=MAX_INDEX),
        tx_proof=_list(fields["tx_proof"]),
        batch=Batch(
            _count(batch["size"]), _count(batch["index"]), _bytes(batch["salt"], 16), _list(batch["path"], 32)
        ),
    )


def _object(value: Json, names: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict) or set(value) != names:
        raise Tampered(f"an EVM proof needs an object with exactly the fields {', '.join(sorted(names))}")
    return value


def _count(value: Json, *, most: int = 2**53 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise Tampered(f"an EVM proof needs a number from 0 to {most}, not {quoted(str(value))}")
    return value


def _bytes(value: Json, size: int | None = None) -> bytes:
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise Tampered("an EVM proof writes bytes as 0x and lower-case hexadecimal")
    data = bytes.fromhex(value[2:])
    if size is not None and len(data) != size:
        raise Tampered(f"an EVM proof has {len(data)} bytes where {size} are expected")
    return data


def _list(value: Json, size: int | None = None) -> tuple[bytes, ...]:
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        raise Tampered(f"an EVM proof needs a list of at most {MAX_ITEMS} items, not another value")
    return tuple(_bytes(each, size) for each in value)


def _text(data: bytes) -> str:
    return f"0x{data.hex()}"
