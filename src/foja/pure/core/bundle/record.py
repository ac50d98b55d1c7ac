"""The proof that an event recorded. Only this module knows where events hold proofs.

`tsa.confirmed` holds the token in `token_b64`; its file is the reply that grants the token. With `path_b64`
and `blinding_b64` the token is over the root of a batch, and its file is the evidence record. Its `nonce` is
the one that was sent, in hexadecimal. The other kinds hold theirs in `proof`: a text is the file in base64,
`{"sha256": …}` names a file that is derived from a batch or stored, any other object is the file in canonical
form.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

from foja.pure.core.bundle import evidence_record
from foja.pure.core.bundle.evidence_record import BLINDING_BYTES, HASH_BYTES, MAX_LISTS
from foja.pure.core.canonical import Json, canonical

_STAMPED = "tsa.confirmed"
_EVIDENCE = {
    _STAMPED: "tsa",
    "rekor.confirmed": "rekor",
    "anchor.submitted": None,
    "anchor.confirmed": None,
}
_NONCE = re.compile("[0-9a-f]{1,64}")
_OBJECT_IDENTIFIER = b"\x06"
_GRANTED = b"\x30\x03\x02\x01\x00"


class RecordedEvent(Protocol):
    """The part of an event that can hold a proof."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def payload(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Record:
    """One proof as an event recorded it; `data` is None if only its digest was recorded."""

    evidence: str
    witness_hash: str
    seq: int
    sha256: bytes
    data: bytes | None
    nonce: int | None = None  # of the request that a timestamp answers, if it was recorded
    blinding: bytes | None = None  # the random file of its group, if the proof is an evidence record


def recorded(event: RecordedEvent) -> Record | None:
    """Return the proof that this event recorded, or None if there is no readable one."""
    payload = event.payload
    if event.kind not in _EVIDENCE or not isinstance(payload, dict):
        return None
    evidence, witness = _EVIDENCE[event.kind] or payload.get("network"), payload.get("witness_hash")
    blinding = _blinding(payload) if event.kind == _STAMPED else None
    digest, data = _proof(payload, witness, blinding)
    if digest is None or not isinstance(evidence, str) or not isinstance(witness, str):
        return None
    nonce = payload.get("nonce")
    if "nonce" in payload and not (isinstance(nonce, str) and _NONCE.fullmatch(nonce)):
        return None
    number = int(str(nonce), 16) if nonce else None
    return Record(evidence, witness, event.seq, digest, data, number, blinding)


def _blinding(payload: Mapping[str, Json]) -> bytes | None:
    """Return the blinding of an evidence record, or nothing if it cannot be read; None for a plain token."""
    if not {"blinding_b64", "path_b64"} & payload.keys():
        return None
    try:
        return b64decode(str(payload.get("blinding_b64")), validate=True)
    except ValueError:
        return b""


def _proof(
    payload: Mapping[str, Json], witness: Json, blinding: bytes | None
) -> tuple[bytes | None, bytes | None]:
    token, proof = payload.get("token_b64"), payload.get("proof")
    try:
        if blinding is not None:
            return _whole(_evidence_record(payload, str(witness), blinding))
        if isinstance(token, str):
            return _whole(as_reply(b64decode(token, validate=True)))
        if isinstance(proof, str):
            return _whole(b64decode(proof, validate=True))
        if isinstance(proof, dict) and set(proof) == {"sha256"}:
            return bytes.fromhex(str(proof["sha256"])), None
    except (binascii.Error, ValueError):
        return None, None
    return _whole(canonical(proof)) if isinstance(proof, dict) else (None, None)


def _evidence_record(payload: Mapping[str, Json], witness: str, blinding: bytes) -> bytes:
    """Return the record whose parts an event holds, or raise `ValueError` if they are not valid."""
    token, path = (b64decode(str(payload.get(name)), validate=True) for name in ("token_b64", "path_b64"))
    digest = bytes.fromhex(witness)
    levels, rest = divmod(len(path), HASH_BYTES)
    if (len(blinding), len(digest), rest) != (BLINDING_BYTES, HASH_BYTES, 0) or levels >= MAX_LISTS:
        raise ValueError("not the parts of an evidence record")
    return evidence_record.encode(evidence_record.lists_of(digest, blinding, path), token)


def as_reply(token: bytes) -> bytes:
    """Return the TimeStampResp that grants a token, the form every tool reads; leave a reply unchanged."""
    start = 2 if token[1:2] < b"\x80" else 2 + (token[1] & 0x7F)
    if token[:1] != b"\x30" or token[start : start + 1] != _OBJECT_IDENTIFIER:
        return token
    return b"\x30" + evidence_record.length(len(_GRANTED) + len(token)) + _GRANTED + token


def _whole(data: bytes) -> tuple[bytes, bytes]:
    return sha256(data).digest(), data
