"""The proof that an event recorded. Only this module knows where events hold proofs.

`tsa.confirmed` holds the token in `token_b64`; its file is the reply that grants the token. Its `nonce` is
the one that was sent, in hexadecimal. The other kinds hold theirs in `proof`: a text is the file in base64,
`{"sha256": …}` names a file in the store, any other object is the file in canonical form.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from foja.core.canonical import Json, canonical
from foja.core.excerpt import Excerpt

_EVIDENCE = {
    "tsa.confirmed": "tsa",
    "rekor.confirmed": "rekor",
    "anchor.submitted": None,
    "anchor.confirmed": None,
}
_NONCE = re.compile("[0-9a-f]{1,64}")
_OBJECT_IDENTIFIER = b"\x06"
_GRANTED = b"\x30\x03\x02\x01\x00"


@dataclass(frozen=True, slots=True)
class Record:
    """One proof as an event recorded it; `data` is None if only its digest was recorded."""

    evidence: str
    witness_hash: str
    seq: int
    sha256: bytes
    data: bytes | None
    nonce: int | None = None  # of the request that a timestamp answers, if it was recorded


def recorded(event: Excerpt) -> Record | None:
    """Return the proof that this event recorded, or None if there is no readable one."""
    payload = event.payload
    if event.kind not in _EVIDENCE or not isinstance(payload, dict):
        return None
    evidence, witness = _EVIDENCE[event.kind] or payload.get("network"), payload.get("witness_hash")
    digest, data = _proof(payload)
    if digest is None or not isinstance(evidence, str) or not isinstance(witness, str):
        return None
    nonce = payload.get("nonce")
    if "nonce" in payload and not (isinstance(nonce, str) and _NONCE.fullmatch(nonce)):
        return None
    return Record(evidence, witness, event.seq, digest, data, int(str(nonce), 16) if nonce else None)


def _proof(payload: Mapping[str, Json]) -> tuple[bytes | None, bytes | None]:
    token, proof = payload.get("token_b64"), payload.get("proof")
    try:
        if isinstance(token, str):
            return _whole(as_reply(b64decode(token, validate=True)))
        if isinstance(proof, str):
            return _whole(b64decode(proof, validate=True))
        if isinstance(proof, dict) and set(proof) == {"sha256"}:
            return bytes.fromhex(str(proof["sha256"])), None
    except (binascii.Error, ValueError):
        return None, None
    return _whole(canonical(proof)) if isinstance(proof, dict) else (None, None)


def as_reply(token: bytes) -> bytes:
    """Return the TimeStampResp that grants a token, the form every tool reads; leave a reply unchanged."""
    start = 2 if token[1:2] < b"\x80" else 2 + (token[1] & 0x7F)
    if token[:1] != b"\x30" or token[start : start + 1] != _OBJECT_IDENTIFIER:
        return token
    return b"\x30" + _length(len(_GRANTED) + len(token)) + _GRANTED + token


def _length(size: int) -> bytes:
    """Return a length in DER."""
    if size < 0x80:
        return bytes((size,))
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((0x80 | len(octets),)) + octets


def _whole(data: bytes) -> tuple[bytes, bytes]:
    return sha256(data).digest(), data
