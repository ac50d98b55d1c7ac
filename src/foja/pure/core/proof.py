"""The inclusion proof of one log entry, as a text that is checked offline: c2sp.org/tlog-proof."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass

from foja.errors import Tampered
from foja.pure.core.merkle import check_inclusion, leaf_hash
from foja.pure.core.note import Checkpoint, Verifier, from_base64, open_note, parse_checkpoint, split_note
from foja.pure.quotation import quoted

HEADER = "c2sp.org/tlog-proof@v1"
RECEIPT = b"\xd2\x84"  # how the other form of a proof begins: a COSE receipt (`foja.pure.proofs.cose`)
MAX_BYTES, MAX_HASHES = 128 << 10, 64  # a checkpoint may have 32 cosignatures of 3,300 characters
_INDEX = re.compile("index (0|[1-9][0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class Proof:
    """The index of an entry, the hashes beside its path, and the signed checkpoint."""

    index: int
    path: tuple[bytes, ...]
    note: str

    def text(self) -> str:
        """Return the proof as it is written to a `.tlog-proof` file."""
        hashes = [base64.b64encode(each).decode() for each in self.path]
        return "\n".join([HEADER, f"index {self.index}", *hashes, "", self.note])

    def check(self, entry: bytes, verifiers: Iterable[Verifier]) -> Checkpoint:
        """Return the checkpoint that covers `entry`, or raise `Tampered`."""
        checkpoint = parse_checkpoint(split_note(self.note)[0])
        open_note(self.note, [each for each in verifiers if each.signs_for(checkpoint.origin)])
        check_inclusion(leaf_hash(entry), self.index, checkpoint.size, self.path, checkpoint.root)
        return checkpoint


def parse_proof(text: str) -> Proof:
    """Return what `Proof.text` wrote, or raise `Tampered`."""
    if len(text) > MAX_BYTES:
        raise Tampered(f"not a proof: it has over {MAX_BYTES:,} characters")
    head, blank, note = text.partition("\n\n")
    lines = head.split("\n")
    if not blank or lines[0] != HEADER:
        raise Tampered(f"not a proof: it must begin with {HEADER}")
    lines = lines[1:]
    if lines and lines[0].startswith("extra "):
        lines = lines[1:]
    index = _INDEX.fullmatch(lines[0] if lines else "")
    if index is None:
        raise Tampered("not a proof: the line 'index <number>' is missing")
    if len(lines) > 1 + MAX_HASHES:
        raise Tampered(f"not a proof: it has more than {MAX_HASHES} hashes")
    return Proof(int(index[1]), tuple(map(_hash, lines[1:])), note)


def _hash(line: str) -> bytes:
    found = from_base64(line)
    if found is None:
        raise Tampered(f"not a proof: {quoted(line)} is not base64 in its one spelling")
    return found
