"""The manifest of a bundle: one closed JSON object in canonical form (RFC 8785)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar
from uuid import UUID

from foja.errors import BadBundle, NotCanonical
from foja.pure.core.bundle.names import FOLDERS
from foja.pure.core.canonical import Json, canonical, parse
from foja.pure.quotation import quoted

SCHEMA = "foja/bundle/v1"
PROFILE = "evidence/v1"
MAX_BYTES = 128 << 10
MAX_PROOFS = 256
_HEX = re.compile("[0-9a-f]{64}")
_COUNT = 2**53 - 1
Readers: TypeAlias = Mapping[str, Callable[[Json], object]]
Part = TypeVar("Part")


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
                "ledger": document_of(self.stream),
                "checkpoint": None if self.checkpoint is None else document_of(self.checkpoint),
                "source": None if self.source is None else document_of(self.source),
                "required_evidence": list(self.required),
                "evidence": [document_of(each) for each in self.evidence],
            }
        )


def decode(data: bytes) -> Manifest:
    """Return the manifest that `encode` wrote, or raise `BadBundle`."""
    if len(data) > MAX_BYTES:
        raise BadBundle("ZIP_BOMB", f"the manifest has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
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
        stream=_read(StreamHead, _STREAM, fields["ledger"]),
        checkpoint=None if checkpoint is None else _read(Signed, _SIGNED, checkpoint),
        source=None if source is None else _read(StreamHead, _STREAM, source),
        required=tuple(_kind(each) for each in _list(fields["required_evidence"])),
        evidence=tuple(_read(EvidenceFile, _EVIDENCE, each) for each in _list(fields["evidence"])),
    )


def document_of(part: StreamHead | Signed | EvidenceFile) -> dict[str, Json]:
    """Return a part of the manifest as a JSON object, as events write it too."""
    return {name: _plain(getattr(part, name)) for name in part.__slots__}


def _plain(value: bytes | UUID | str | int) -> Json:
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, UUID) else value


def _read(part: Callable[..., Part], readers: Readers, value: Json) -> Part:
    fields = _closed(value, readers)
    return part(**{name: read(fields[name]) for name, read in readers.items()})


def _closed(value: Json, names: Iterable[str]) -> Mapping[str, Json]:
    if not isinstance(value, dict) or set(value) != set(names):
        wrong = sorted(set(value) ^ set(names)) if isinstance(value, dict) else [type(value).__name__]
        named = quoted(", ".join(wrong))
        raise BadBundle("UNKNOWN_FIELD", f"the manifest has missing or unknown fields: {named}")
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


def _uuid(value: Json) -> UUID:
    try:
        return UUID(_text(value))
    except ValueError:
        raise _refusal(value) from None


def _refusal(value: Json) -> BadBundle:
    return BadBundle("MALFORMED", f"the manifest has an invalid value: {quoted(str(value))}")


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
_STREAM: Readers = {"domain": _text, "entity_id": _uuid, "events": _count, "head": _digest}
_SIGNED: Readers = {"origin": _text, "size": _count, "root": _digest}
_EVIDENCE: Readers = {"kind": _kind, "path": _text, "seq": _count, "sha256": _digest}
