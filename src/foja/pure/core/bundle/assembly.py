"""Assemble the files of a container: their paths, their order, their list and its token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from foja.pure.core.bundle import names
from foja.pure.core.bundle.archive import Part, part
from foja.pure.core.bundle.asic import AsicManifest, encode_group
from foja.pure.core.bundle.manifest import Manifest
from foja.pure.core.bundle.record import Record


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that a bundle holds, except the outer timestamp."""

    manifest: Manifest
    events: Part
    document: Part | None = None
    log_proof: str | None = None
    source_events: Part | None = None
    source_proof: str | None = None
    statements: Mapping[str, bytes] = field(default_factory=dict)  # of monitors, by path
    proofs: Sequence[Part] = ()  # and the files that belong to them
    trust: Mapping[str, bytes] = field(default_factory=dict)  # copies for convenience; never trusted

    def parts(self) -> list[Part]:
        """Return every file in order, up to the list of files."""
        texts = ((names.LOG_PROOF, self.log_proof), (names.SOURCE_PROOF, self.source_proof))
        found = [
            part(names.MIMETYPE, names.MEDIA_TYPE),
            self.document,
            part(names.MANIFEST, self.manifest.encode()),
            self.events,
            self.source_events,
            *(part(name, text.encode()) for name, text in texts if text is not None),
            *(part(*each) for each in sorted(self.statements.items())),
            *(each for each in self.proofs if not each.entry.name.startswith(names.META)),
            *(part(names.TRUST + name, data) for name, data in sorted(self.trust.items())),
            *(each for each in self.proofs if each.entry.name.startswith(names.META)),
        ]
        return [each for each in found if each is not None]


def proof_files(record: Record, data: bytes, number: int, document: str | None) -> list[Part]:
    """Return the file of a proof, then those that belong to it; `document` is its path, if it is there."""
    if record.blinding is None:
        return [part(names.proof_name(record.evidence, number, data), data)]
    paths = names.record_names(number)
    blinding = part(paths.blinding, record.blinding)
    group = group_listing(number, document, bytes.fromhex(record.witness_hash), blinding.sha256)
    return [part(paths.record, data), blinding, part(paths.listing, group)]


def group_listing(
    number: int, document: str | None, witness: bytes, blinding: bytes, *, typed: bool = True
) -> bytes:
    """Return the list of the group of an evidence record: the document and its blinding.

    A document that is not in the bundle is listed too, without its name: the record is about it.
    """
    paths = names.record_names(number)
    group = {document or names.document_name(""): witness, paths.blinding: blinding}
    return encode_group(paths.record, group, typed=typed)


def listing(parts: Sequence[Part], number: int = 0, *, in_a_batch: bool = False) -> bytes:
    """Return the list of these files. The outer token is made over it; renewals count from 1.

    `in_a_batch`: its token is that of a batch, and the list names its evidence record.
    """
    files = {each.entry.name: each.sha256 for each in parts if each.entry.name != names.MIMETYPE}
    seal = names.SEAL_RECORD.record if in_a_batch else names.seal_names(number)[1]
    return AsicManifest(seal, files).encode()


def seal(parts: Sequence[Part], token: bytes, number: int = 0, *, listed: bytes | None = None) -> list[Part]:
    """Return the files of the container with their list and its token, which cover older ones too.

    `listed` is their list, if the caller has it already.
    """
    manifest, stamp = names.seal_names(number)
    return [*parts, part(manifest, listed or listing(parts, number)), part(stamp, token)]


def seal_in_a_batch(parts: Sequence[Part], listed: bytes, blinding: bytes, record: bytes) -> list[Part]:
    """Return the files of the container with their list and the evidence record about it and its blinding."""
    paths = names.SEAL_RECORD
    own = part(names.ASIC_MANIFEST, listed), part(paths.blinding, blinding)
    files = {each.entry.name: each.sha256 for each in (*parts, *own)}
    group = encode_group(paths.record, sealed_group(files))
    return [*parts, *own, part(paths.listing, group), part(paths.record, record)]


def documents_in(parts: Sequence[Part]) -> list[bytes]:
    """Return the digest of the document among these files, if it is there."""
    return [each.sha256 for each in parts if each.entry.name.startswith(names.DOCUMENT)]


def sealed_group(files: Mapping[str, bytes], *, typed: bool = True) -> dict[str, bytes]:
    """Return the files that a seal's evidence record is about, of all files with their digests.

    These are the list, its blinding and the document: other tools count what a record names itself. A record
    of the first version is not about the document.
    """
    own = names.ASIC_MANIFEST, names.SEAL_RECORD.blinding
    return {
        name: digest
        for name, digest in files.items()
        if name in own or (typed and name.startswith(names.DOCUMENT))
    }
