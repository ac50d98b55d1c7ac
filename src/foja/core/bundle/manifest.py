"""The manifest of a bundle: one closed JSON object in canonical form (RFC 8785)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from foja.core.bundle.names import FOLDERS
from foja.core.canonical import Json, canonical, parse
from foja.errors import BadBundle, NotCanonical

SCHEMA = "foja/bundle/v1"
PROFILE = "evidence/v1"
MAX_BYTES = 4 << 20
MAX_PROOFS = 256
_HEX = re.compile("[0-9a-f]{64}")
_COUNT = 2**53 - 1
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class StreamHead:
    """A history in the bundle: its stream, its length, its head."""

    domain: str
    entity_id: UUID
    events: int
    head: bytes


@dataclass(frozen=True, slots=True)
class Signed:
    """The checkpoint that covers the history."""

    origin: str
    size: int
    root: bytes


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """One proof file: its kind, its path, and the event that recorded it."""

    kind: str
    path: str
    seq: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle claims. Nothing in it is trusted: every field is checked against the files."""

    witness_hash: bytes
    document: str | None
    stream: StreamHead
    checkpoint: Signed | None
    source: StreamHead | None
    required: tuple[str, ...]
    evidence: tuple[EvidenceFile, ...]

    def encode(self) -> bytes:
        """Return the canonical form of this manifest."""
        return canonical(
            {
                "schema": SCHEMA,
                "profile": PROFILE,
                "witness_hash": self.witness_hash.hex(),
                "document": self.document,
                "ledger": stream_document(self.stream),
                "checkpoint": None if self.checkpoint is None else _checkpoint_document(self.checkpoint),
                "source": None if self.source is None else stream_document(self.source),
                "required_evidence": list(self.required),
                "evidence": [_evidence_document(each) for each in self.evidence],
            }
        )


def decode(data: bytes) -> Manifest:
    """Return the manifest that `encode` wrote, or raise `BadBundle`."""
    try:
        manifest = _manifest(_closed(parse(data), _FIELDS))
        if manifest.encode() != data:
            raise BadBundle("NON_CANONICAL", "the manifest is not in canonical form")
    except NotCanonical as error:
        raise BadBundle("MALFORMED", f"the manifest is not canonical JSON ({error})") from None
    return manifest


def _manifest(fields: Mapping[str, Json]) -> Manifest:
    for name in ("required_evidence", "evidence"):
        if len(_list(fields[name])) > MAX_PROOFS:
            raise BadBundle("ZIP_BOMB", f"the manifest's {name} has more than {MAX_PROOFS} entries")
    if (fields["schema"], fields["profile"]) != (SCHEMA, PROFILE):
        raise BadBundle("UNKNOWN_PROFILE", f"the manifest is not of schema {SCHEMA}, profile {PROFILE}")
    document, source, checkpoint = fields["document"], fields["source"], fields["checkpoint"]
    return Manifest(
        witness_hash=_digest(fields["witness_hash"]),
        document=None if document is None else _text(document),
        stream=_stream(fields["ledger"]),
        checkpoint=None if checkpoint is None else _signed(checkpoint),
        source=None if source is None else _stream(source),
        required=tuple(_kind(each) for each in _list(fields["required_evidence"])),
        evidence=tuple(_evidence(each) for each in _list(fields["evidence"])),
    )


def _stream(value: Json) -> StreamHead:
    fields = _closed(value, _STREAM)
    entity_id = _read(fields["entity_id"], UUID)
    return StreamHead(_text(fields["domain"]), entity_id, _count(fields["events"]), _digest(fields["head"]))


def _signed(value: Json) -> Signed:
    fields = _closed(value, _SIGNED)
    return Signed(_text(fields["origin"]), _count(fields["size"]), _digest(fields["root"]))


def _evidence(value: Json) -> EvidenceFile:
    fields = _closed(value, _EVIDENCE)
    kind, path = _kind(fields["kind"]), _text(fields["path"])
    return EvidenceFile(kind, path, _count(fields["seq"]), _digest(fields["sha256"]))


def stream_document(stream: StreamHead) -> dict[str, Json]:
    """Return a history's head as manifests and events write it."""
    return {
        "domain": stream.domain,
        "entity_id": str(stream.entity_id),
        "events": stream.events,
        "head": stream.head.hex(),
    }


def _checkpoint_document(checkpoint: Signed) -> dict[str, Json]:
    return {"origin": checkpoint.origin, "size": checkpoint.size, "root": checkpoint.root.hex()}


def _evidence_document(evidence: EvidenceFile) -> dict[str, Json]:
    return {
        "kind": evidence.kind,
        "path": evidence.path,
        "seq": evidence.seq,
        "sha256": evidence.sha256.hex(),
    }


def _closed(value: Json, names: frozenset[str]) -> Mapping[str, Json]:
    if not isinstance(value, dict) or set(value) != names:
        wrong = sorted(set(value) ^ names) if isinstance(value, dict) else [type(value).__name__]
        raise BadBundle("UNKNOWN_FIELD", f"the manifest has missing or unknown fields: {', '.join(wrong)}")
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise _refusal(value)
    return value


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise _refusal(value)
    return value


def _kind(value: Json) -> str:
    kind = _text(value)
    if kind not in FOLDERS:
        raise _refusal(value)
    return kind


def _count(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _COUNT:
        raise _refusal(value)
    return value


def _digest(value: Json) -> bytes:
    if not _HEX.fullmatch(_text(value)):
        raise _refusal(value)
    return bytes.fromhex(_text(value))


def _read(value: Json, kind: Callable[[str], Value]) -> Value:
    try:
        return kind(_text(value))
    except ValueError:
        raise _refusal(value) from None


def _refusal(value: Json) -> BadBundle:
    return BadBundle("MALFORMED", f"the manifest has an invalid value: {str(value)[:80]!a}")


_FIELDS = frozenset(
    {
        "schema",
        "profile",
        "witness_hash",
        "document",
        "ledger",
        "checkpoint",
        "source",
        "required_evidence",
        "evidence",
    }
)
_STREAM = frozenset({"domain", "entity_id", "events", "head"})
_SIGNED = frozenset({"origin", "size", "root"})
_EVIDENCE = frozenset({"kind", "path", "seq", "sha256"})
