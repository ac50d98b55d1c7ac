"""The proof of one event as one file, `X.foja-proof`: a ZIP with exactly one valid encoding.

It holds the event, the arguments whose SHA-256 the event names (if they are known), the proof that the
event is in the log, the checkpoint of that proof with its cosignatures, and how to check them by hand.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import BinaryIO

from foja.errors import BadBundle
from foja.pure.core.bundle.archive import part, write
from foja.pure.core.bundle.names import MIMETYPE
from foja.pure.core.bundle.proof_readme import README
from foja.pure.core.bundle.reader import open_container
from foja.pure.quotation import quoted

MEDIA_TYPE = b"application/vnd.foja.proof+zip"
SUFFIX = ".foja-proof"
EVENT, ARGUMENTS, PROOF = "event.json", "arguments.json", "event.tlog-proof"
CHECKPOINT, README_NAME = "event.checkpoint", "README.txt"
LARGEST_EVENT, LARGEST_PROOF = 2 << 20, 256 << 10
MAX_BYTES = 2 * LARGEST_EVENT + 2 * LARGEST_PROOF + (64 << 10)
_NAMES = (MIMETYPE, EVENT, ARGUMENTS, PROOF, CHECKPOINT, README_NAME)


@dataclass(frozen=True, slots=True)
class ProofFile:
    """The texts in the file; the checkpoint is the one in the proof."""

    event: bytes
    proof: bytes
    arguments: bytes | None = None

    def encode(self) -> bytes:
        """Return the file. The same texts always give the same bytes."""
        note = self.proof.partition(b"\n\n")[2]
        texts = (MEDIA_TYPE, self.event, self.arguments, self.proof, note, README.encode())
        parts = [part(name, text) for name, text in zip(_NAMES, texts, strict=True) if text is not None]
        return b"".join(write(parts))


def proof_file(event: str, proof: str, arguments: str | None) -> bytes:
    """Return the file of these texts."""
    return ProofFile(event.encode(), proof.encode(), arguments.encode() if arguments else None).encode()


def decode(file: BinaryIO) -> ProofFile:
    """Return the texts in a file that `encode` wrote, or raise `BadBundle`. No hash is checked yet."""
    size = file.seek(0, io.SEEK_END)
    if size > MAX_BYTES:
        raise BadBundle("ZIP_BOMB", f"the file has {size:,} bytes; a proof has at most {MAX_BYTES:,}")
    container = open_container(file, MEDIA_TYPE)
    if unknown := [name for name in container.names if name not in _NAMES]:
        raise BadBundle("UNREFERENCED_ENTRY", f"{quoted(unknown[0])} is not a file of a proof")
    expected = [name for name in _NAMES if name != ARGUMENTS or ARGUMENTS in container]
    if missing := [name for name in expected if name not in container]:
        raise BadBundle("MISSING_ENTRY", f"{missing[0]} is missing")
    found = ProofFile(
        container.read(EVENT, LARGEST_EVENT),
        container.read(PROOF, LARGEST_PROOF),
        container.read(ARGUMENTS, LARGEST_EVENT) if ARGUMENTS in container else None,
    )
    file.seek(0)
    if found.encode() != file.read():
        detail = (
            "its files are in another order, or the checkpoint or README.txt is not the one of this proof"
        )
        raise BadBundle("NON_CANONICAL", detail)
    return found
