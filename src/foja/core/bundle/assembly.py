"""Assemble the files of a container: their paths, their order, their list and its token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from foja.core.bundle import names
from foja.core.bundle.archive import Part, part
from foja.core.bundle.asic import AsicManifest
from foja.core.bundle.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that a bundle holds, except the outer timestamp."""

    manifest: Manifest
    events: Part
    document: Part | None = None
    log_proof: str | None = None
    source_events: Part | None = None
    source_proof: str | None = None
    proofs: Sequence[Part] = ()
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
            *self.proofs,
            *(part(names.TRUST + name, data) for name, data in sorted(self.trust.items())),
        ]
        return [each for each in found if each is not None]


def listing(parts: Sequence[Part]) -> bytes:
    """Return the list of these files. The outer token is made over it."""
    return _list(names.STAMP, parts)


def seal(parts: Sequence[Part], token: bytes) -> list[Part]:
    """Return the files of the container with their list and its token."""
    return [*parts, part(names.ASIC_MANIFEST, listing(parts)), part(names.STAMP, token)]


def renewal_listing(parts: Sequence[Part], number: int) -> bytes:
    """Return the list for a renewal: every file so far, including older lists and tokens."""
    return _list(names.renewal_names(number)[1], parts)


def renew(parts: Sequence[Part], number: int, token: bytes) -> list[Part]:
    """Return the files of a container with one more token over all of them."""
    manifest, stamp = names.renewal_names(number)
    return [*parts, part(manifest, renewal_listing(parts, number)), part(stamp, token)]


def _list(stamp: str, parts: Sequence[Part]) -> bytes:
    files = {each.entry.name: each.sha256 for each in parts if each.entry.name != names.MIMETYPE}
    return AsicManifest(stamp, files).encode()
