"""Which proof an event recorded: the one place that knows where events keep them.

`tsa.confirmed` holds the token in `token_b64`. The others hold theirs in `proof`: a text is the file in
base64, `{"sha256": …}` names a file kept in the store, any other object is the file in canonical form.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from foja.core.canonical import Json, canonical
from foja.core.excerpt import Excerpt

_WORDS = {
    "tsa.confirmed": "tsa",
    "rekor.confirmed": "rekor",
    "anchor.submitted": None,
    "anchor.confirmed": None,
}


@dataclass(frozen=True, slots=True)
class Record:
    """One proof as an event recorded it; `data` is None if only its digest was."""

    evidence: str
    witness_hash: str
    seq: int
    sha256: bytes
    data: bytes | None


def recorded(event: Excerpt) -> Record | None:
    """Return the proof this event recorded, if it recorded one that can be read."""
    payload = event.payload
    if event.kind not in _WORDS or not isinstance(payload, dict):
        return None
    evidence, witness = _WORDS[event.kind] or payload.get("network"), payload.get("witness_hash")
    digest, data = _proof(payload)
    if digest is None or not isinstance(evidence, str) or not isinstance(witness, str):
        return None
    return Record(evidence, witness, event.seq, digest, data)


def _proof(payload: Mapping[str, Json]) -> tuple[bytes | None, bytes | None]:
    proof = payload.get("token_b64", payload.get("proof"))
    try:
        if isinstance(proof, dict) and set(proof) == {"sha256"}:
            return bytes.fromhex(str(proof["sha256"])), None
        if isinstance(proof, str):
            data = b64decode(proof, validate=True)
            return sha256(data).digest(), data
    except (binascii.Error, ValueError):
        return None, None
    if isinstance(proof, dict):
        return sha256(canonical(proof)).digest(), canonical(proof)
    return None, None
