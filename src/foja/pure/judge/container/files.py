"""C1 to C3 and C5: all files of a bundle are listed, match their digests, and belong to one document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO

from foja.errors import BadBundle, Malformed
from foja.pure.core.bundle import asic, manifest, names
from foja.pure.core.bundle.asic import AsicManifest, encode_group
from foja.pure.core.bundle.assembly import group_listing, sealed_group
from foja.pure.core.bundle.evidence_record import BLINDING_BYTES
from foja.pure.core.bundle.manifest import Manifest
from foja.pure.core.bundle.reader import Container, open_container
from foja.pure.judge.container.copies import check_copies
from foja.pure.judge.detached import Detached
from foja.pure.proofs import ers
from foja.pure.proofs.finding import Flaw
from foja.pure.proofs.tsa.token import read_token
from foja.pure.quotation import quoted

MAX_SEALS = 100
LARGEST_STATEMENT = 64 << 10


@dataclass(frozen=True, slots=True)
class Seal:
    """One list of files with its token or evidence record, and the path of that."""

    path: str
    listed: bytes
    files: AsicManifest
    token: bytes  # or the evidence record, if it has a group
    group: tuple[bytes, ...] = ()  # the digests of the other files that the record is about


@dataclass(frozen=True, slots=True)
class Files:
    """A container in which every file matches the newest list."""

    container: Container
    seals: tuple[Seal, ...]
    digests: dict[str, bytes]

    def manifest(self) -> Manifest:
        """C5: return the manifest if it names exactly the files of the bundle, or raise `BadBundle`."""
        found = manifest.decode(self._read(names.MANIFEST))
        self._check_named(found)
        return found

    def headers(self) -> list[tuple[int, bytes]]:
        """Return the Bitcoin headers in the bundle, by height; they help, but are not trusted."""
        heights = {name: names.header_height(name) for name in self.digests}
        return [(height, self._read(name)) for name, height in heights.items() if height is not None]

    def statements(self) -> tuple[Detached, ...]:
        """Return the statements of monitors in the bundle."""
        found = [name for name in (names.MONITORED, names.SOURCE_MONITORED) if name in self.digests]
        return tuple(Detached(self.container.read(name, LARGEST_STATEMENT), name) for name in found)

    def _check_named(self, found: Manifest) -> None:
        proofs = [each.path for each in found.evidence]
        inside = [found.document] if found.document else []
        source = [names.SOURCE_EVENTS, names.SOURCE_PROOF, names.SOURCE_MONITORED] if found.source else []
        groups = [name for _, paths in records_of(found) for name in paths[1:]]
        known = {names.MANIFEST, names.EVENTS, names.LOG_PROOF, *inside, *source, *proofs, *groups}
        known |= {names.MONITORED, names.TSA_COPIES, names.LOG_COPY}
        for name in self.digests:
            if name not in known and names.header_height(name) is None:
                raise BadBundle("UNREFERENCED_ENTRY", f"{quoted(name)} is not in the manifest")
        for name in {names.EVENTS, *inside, *source[:1], *proofs, *groups} - set(self.digests):
            raise BadBundle("MISSING_ENTRY", f"the manifest names {quoted(name)}, which is missing")
        self._check_paths(found)
        check_copies(self.container)
        for each in found.evidence:
            if self.digests[each.path] != each.sha256:
                raise BadBundle(
                    "MANIFEST_DIGEST", f"{quoted(each.path)} is not the file that the manifest names"
                )
        for number, paths in records_of(found):
            self._check_group(found, number, paths)

    def _check_group(self, found: Manifest, number: int, paths: names.RecordNames) -> None:
        """The list of a group is about this document and a random file of its one size."""
        if self.container.size(paths.blinding) != BLINDING_BYTES:
            raise BadBundle("MALFORMED", f"{paths.blinding} does not hold {BLINDING_BYTES} bytes")
        blinding = self.digests[paths.blinding]
        group = group_listing(
            number, found.document, found.witness_hash, blinding, typed=self.seals[0].files.typed
        )
        if self._read(paths.listing) != group:
            raise BadBundle("NON_CANONICAL", f"{paths.listing} is not the list of the group of its record")

    def _check_paths(self, found: Manifest) -> None:
        """Every proof has the path of its kind and number, the document its folder, headers their size.

        No event recorded more than one proof, so one that is shown twice is refused.
        """
        records = {number: paths.record for number, paths in records_of(found)}
        paths = [
            records.get(number) or names.proof_name(each.kind, number, self._start(each.path))
            for number, each in enumerate(found.evidence, 1)
        ]
        if [each.path for each in found.evidence] != paths:
            raise BadBundle("NON_CANONICAL", "the manifest names a proof at a path that is not of its kind")
        if len({each.seq for each in found.evidence}) < len(found.evidence):
            raise BadBundle("NON_CANONICAL", "the manifest names two proofs of one event")
        if found.document and not found.document.startswith(names.DOCUMENT):
            raise BadBundle(
                "NON_CANONICAL", f"the document {quoted(found.document)} is not in {names.DOCUMENT}"
            )
        for name in self.digests:
            if names.header_height(name) is not None and self.container.size(name) != names.HEADER_BYTES:
                raise BadBundle("MALFORMED", f"{quoted(name)} is not a header of {names.HEADER_BYTES} bytes")

    def _start(self, name: str) -> bytes:
        return next(iter(self.container.chunks(name)), b"")

    def _read(self, name: str) -> bytes:
        if name not in self.container:
            raise BadBundle("MISSING_ENTRY", f"{name} is missing")
        return self.container.read(name)


def records_of(found: Manifest) -> list[tuple[int, names.RecordNames]]:
    """Return the number and the paths of every proof that is an evidence record."""
    numbered = [(each, number, names.record_names(number)) for number, each in enumerate(found.evidence, 1)]
    return [
        (number, paths)
        for each, number, paths in numbered
        if each.kind == names.RECORDED and each.path == paths.record
    ]


def open_files(file: BinaryIO) -> Files:
    """C1 to C3: return the files of a container, each as listed, or raise `BadBundle`."""
    container = open_container(file)
    seals = tuple(_seals(container))
    _check_forms(seals, container)
    digests = _digests(container)
    for seal, listed in zip(seals, _lists(container.names), strict=True):
        _check_listed(seal, listed, digests)
    return Files(container, seals, {name: digests[name] for name in _lists(container.names)[0]})


def _seals(container: Container) -> Iterator[Seal]:
    for name, *group, stamp in _seal_files(container):
        data = container.read(name)
        files = asic.decode(data)
        if files.token != stamp:
            raise BadBundle("MALFORMED", f"{name} names the token {quoted(files.token)}, not {stamp}")
        others = _group(container, data, files) if group else ()
        yield Seal(stamp, data, files, container.read(stamp), others)


def _check_forms(seals: Sequence[Seal], container: Container) -> None:
    """Lists of the first version, which have no media types, come first and are all numbered."""
    forms = [each.files.typed for each in seals]
    if forms != sorted(forms) or (len(forms) > 1 and forms[-1] != (names.NEWEST_MANIFEST in container)):
        raise BadBundle("NON_CANONICAL", "the lists of files are not in the form of their version")


def _group(container: Container, listed: bytes, files: AsicManifest) -> tuple[bytes, ...]:
    """Return the digests of the files that a seal's record is about beside this list of files.

    The list of the group must name exactly these and the list of files.
    """
    paths = names.SEAL_RECORD
    if container.size(paths.blinding) != BLINDING_BYTES:
        raise BadBundle("MALFORMED", f"{paths.blinding} does not hold {BLINDING_BYTES} bytes")
    blinding = sha256(container.read(paths.blinding)).digest()
    own = {names.ASIC_MANIFEST: sha256(listed).digest(), paths.blinding: blinding}
    group = sealed_group({**files.digests, **own}, typed=files.typed)
    if container.read(paths.listing) != encode_group(paths.record, group, typed=files.typed):
        raise BadBundle("NON_CANONICAL", f"{paths.listing} is not the list of the group of its record")
    return tuple(digest for name, digest in group.items() if name != names.ASIC_MANIFEST)


def _first_seal(container: Container) -> tuple[str, ...]:
    """Return the files of the first seal: its list, then its token, or all that an evidence record needs.

    Any file of a record decides: with it, a token is a file that does not belong here.
    """
    paths = names.SEAL_RECORD
    if any(name in container for name in paths):
        return names.ASIC_MANIFEST, paths.blinding, paths.listing, paths.record
    return names.seal_names(0)


def _seal_files(container: Container) -> Iterator[tuple[str, ...]]:
    """Yield the files of every seal, oldest first: by number, not by position."""
    seals = [_first_seal(container)]
    while names.renewed_names(len(seals))[0] in container:
        seals.append(names.renewed_names(len(seals)))
    if names.NEWEST_MANIFEST in container:
        seals.append(names.seal_names(len(seals)))
    if len(seals) > MAX_SEALS:
        raise BadBundle("ZIP_BOMB", f"the bundle has more than {MAX_SEALS} lists of files")
    inside = [name for name in container.names if name.startswith(names.META)]
    meta = [name for name in inside if not names.is_record_file(name)]
    listed = [name for seal in seals for name in seal]
    for name in listed:
        if name not in container:
            raise BadBundle("MISSING_ENTRY", f"{name} is missing")
    if meta != listed:
        raise BadBundle("UNREFERENCED_ENTRY", f"{names.META} holds a file that a bundle does not have")
    if list(container.names[-len(listed) :]) != listed:
        raise BadBundle(
            "UNREFERENCED_ENTRY", "after the first list there are files other than lists and their tokens"
        )
    yield from seals


def _lists(found: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the files that each list must name: all files before it, except the mimetype."""
    ends = [at for at, name in enumerate(found) if names.is_seal_list(name)]
    return [tuple(found[1:end]) for end in ends]


def _check_listed(seal: Seal, listed: tuple[str, ...], digests: dict[str, bytes]) -> None:
    files, present = seal.files.digests, set(listed)
    for name in listed:
        if name not in files:
            detail = f"{quoted(name)} was added after the bundle was sealed"
            raise BadBundle("UNREFERENCED_ENTRY", _unlike(seal, name, detail))
    for name, digest in files.items():
        if name not in present:
            detail = f"{quoted(name)} was removed after the bundle was sealed"
            raise BadBundle("MISSING_ENTRY", _unlike(seal, name, detail))
        if digests[name] != digest:
            what = "the document inside" if name.startswith(names.DOCUMENT) else "a file inside"
            detail = f"{what} was changed after it was sealed: {quoted(name)}"
            raise BadBundle("MANIFEST_DIGEST", _unlike(seal, name, detail))
    if tuple(files) != listed:
        raise BadBundle("NON_CANONICAL", f"the list under {seal.path} is not in the order of the files")


def _unlike(seal: Seal, name: str, detail: str) -> str:
    """Return what was done to a file, or that its list is not the sealed one: then the list may be false."""
    if _seals_list(seal):
        return detail
    return f"the list of files is not the one that was sealed, and {quoted(name)} does not fit it"


def _seals_list(seal: Seal) -> bool:
    """Return whether the token or record of a seal is about its list, whoever made it."""
    digest, token = sha256(seal.listed).digest(), seal.token
    try:
        if seal.group:
            record = ers.read_record(token)
            if digest not in ers.members(token):
                return False
            digest, token = ers.root_of(record.lists), record.token
        return read_token(token).info.imprint == digest
    except (Flaw, Malformed):
        return False


def _digests(container: Container) -> dict[str, bytes]:
    found = {}
    for name in container.names:
        digest = sha256()
        for chunk in container.chunks(name):
            digest.update(chunk)
        found[name] = digest.digest()
    return found
