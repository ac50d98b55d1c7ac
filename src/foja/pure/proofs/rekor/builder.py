"""Make what a log of version 2 records, and the Sigstore bundle that others verify."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from foja.pure.core import tiles
from foja.pure.core.canonical import Json, canonical
from foja.pure.core.note import Checkpoint
from foja.pure.core.tiles import Tile
from foja.pure.proofs.rekor.bundle import MEDIA, Inclusion, LogEntry

KIND, VERSION = "hashedrekord", "0.0.2"
KEY_DETAILS = "PKIX_ECDSA_P256_SHA_256"


@dataclass(frozen=True, slots=True)
class SignedDigest:
    """A SHA-256 digest, its ECDSA signature, and the P-256 public key that made it, DER."""

    digest: bytes
    signature: bytes
    key: bytes

    def request(self) -> bytes:
        """Return the request that asks a log to record it."""
        return canonical(
            {"hashedRekordRequestV002": {"digest": _text(self.digest), "signature": self._signature()}}
        )

    def body(self) -> bytes:
        """Return the entry as a log records it: the leaf of its tree."""
        data: Json = {"algorithm": "SHA2_256", "digest": _text(self.digest)}
        spec: Json = {"hashedRekordV002": {"data": data, "signature": self._signature()}}
        return canonical({"apiVersion": VERSION, "kind": KIND, "spec": spec})

    def _signature(self) -> Json:
        verifier: Json = {"keyDetails": KEY_DETAILS, "publicKey": {"rawBytes": _text(self.key)}}
        return {"content": _text(self.signature), "verifier": verifier}


def recorded_entry(log_id: bytes, body: bytes, inclusion: Inclusion) -> LogEntry:
    """Return the entry of a log of version 2, which promises nothing and signs no time."""
    return LogEntry(inclusion.index, log_id, KIND, VERSION, None, None, inclusion, body)


def prove_inclusion(index: int, checkpoint: Checkpoint, note: str, data: Mapping[Tile, bytes]) -> Inclusion:
    """Return the proof that entry `index` is under a checkpoint, from the tiles it needs."""
    path = tuple(tiles.prove_inclusion(index, checkpoint.size, data))
    return Inclusion(index, checkpoint.root, checkpoint.size, path, note)


def encode_bundle(signed: SignedDigest, entry: LogEntry, tokens: Iterable[bytes]) -> bytes:
    """Return the Sigstore bundle (version 0.3) of an entry; `tokens` are replies over the signature."""
    material: Json = {
        "publicKey": {"hint": key_hint(signed.key)},
        "tlogEntries": [_entry(entry)],
        "timestampVerificationData": {
            "rfc3161Timestamps": [{"signedTimestamp": _text(each)} for each in tokens]
        },
    }
    message: Json = {
        "messageDigest": {"algorithm": "SHA2_256", "digest": _text(signed.digest)},
        "signature": _text(signed.signature),
    }
    return canonical(
        {
            "mediaType": f"{MEDIA}.v0.3+json",
            "verificationMaterial": material,
            "messageSignature": message,
        }
    )


def key_hint(key: bytes) -> str:
    """Return the name under which other tools find a public key: its SHA-256 in base64."""
    return _text(sha256(key).digest())


def _entry(entry: LogEntry) -> Json:
    inclusion = entry.inclusion
    proof: Json = (
        None
        if inclusion is None
        else {
            "logIndex": str(inclusion.index),
            "rootHash": _text(inclusion.root),
            "treeSize": str(inclusion.size),
            "hashes": [_text(each) for each in inclusion.path],
            "checkpoint": {"envelope": inclusion.checkpoint},
        }
    )
    return {
        "logIndex": str(entry.index),
        "logId": {"keyId": _text(entry.log_id)},
        "kindVersion": {"kind": entry.kind, "version": entry.version},
        "inclusionProof": proof,
        "canonicalizedBody": _text(entry.body),
    }


def _text(data: bytes) -> str:
    return b64encode(data).decode()
