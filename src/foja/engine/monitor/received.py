"""Checkpoints that others were shown: in files, in proofs and in bundles that they give us."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from foja.errors import BadBundle, Refused, SetupFailed, Tampered
from foja.files import open_file
from foja.pure.core.bundle import names, proof_file
from foja.pure.core.bundle.reader import open_container, starts_like_zip
from foja.pure.core.note import parse_checkpoint, split_note
from foja.pure.core.proof import HEADER, parse_proof

MAX_BYTES = 256 << 10  # of a checkpoint or a log proof
_PROOF = ".tlog-proof"


@dataclass(frozen=True, slots=True)
class Received:
    """A checkpoint that somebody was shown, and the file that has it."""

    path: Path
    note: str


def read_received(places: Iterable[Path]) -> list[Received]:
    """Return the checkpoints in these files and folders. Raise `SetupFailed` for a file without one.

    A file in a folder may be anything. No signature is checked here.
    """
    found = list[Received]()
    for place in places:
        inside = _inside(place)
        notes = [Received(each, note) for each in inside for note in _notes(each)]
        if not notes and not place.is_dir():
            raise SetupFailed(
                f"{place} has no checkpoint; give a checkpoint, a log proof, a bundle or a folder"
            )
        found += notes
    return found


def _inside(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted(each for each in place.iterdir() if each.is_file())
    if not place.is_file():
        raise SetupFailed(f"{place} is neither a file nor a folder; name what others received")
    return [place]


def _notes(path: Path) -> list[str]:
    """Return the signed checkpoints in a file; none if it is of another kind."""
    with open_file(path) as file:
        texts = _proofs_in(file) if starts_like_zip(file) else [_start_of(file)]
    return [note for text in texts for note in _note(text)]


def _start_of(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(MAX_BYTES)


def _proofs_in(file: BinaryIO) -> list[bytes]:
    for media_type in (names.MEDIA_TYPE, proof_file.MEDIA_TYPE):
        with suppress(BadBundle):
            container = open_container(file, media_type)
            return [container.read(each, MAX_BYTES) for each in container.names if each.endswith(_PROOF)]
    return []


def _note(data: bytes) -> list[str]:
    with suppress(UnicodeDecodeError, Tampered, Refused):
        text = data.decode()
        note = parse_proof(text).note if text.startswith(HEADER) else text
        parse_checkpoint(split_note(note)[0])
        return [note]
    return []
