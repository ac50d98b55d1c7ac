"""Where something stands in a log, and which key says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from foja.core.merkle import check_inclusion, leaf_hash
from foja.core.note import Checkpoint, Verifier, parse_checkpoint, split_note
from foja.core.proof import Proof, parse_proof
from foja.errors import BadBundle, Refused, Tampered

NOT_CHECKED = ("when that was: a log orders, it does not date", "whether others were shown the same log")


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A place in a log that holds; believed only if a trusted key signed for it."""

    proof: Proof
    checkpoint: Checkpoint
    signer: str | None


def find_inclusion(
    data: bytes, entries: Iterable[bytes], verifiers: Iterable[Verifier], name: str
) -> Inclusion:
    """Return where one of these entries stands by a proof, or raise `BadBundle`."""
    try:
        proof = parse_proof(data.decode())
        signer = _signer(proof.note, verifiers)
        checkpoint = parse_checkpoint(split_note(proof.note)[0])
        _check_included(entries, proof, checkpoint)
    except BadBundle:
        raise
    except UnicodeDecodeError:
        raise BadBundle("MALFORMED", f"{name} is not a text") from None
    except (Tampered, Refused) as error:
        raise BadBundle("INCLUSION_INVALID", f"{name}: {error}") from None
    return Inclusion(proof, checkpoint, signer)


def _check_included(entries: Iterable[bytes], proof: Proof, checkpoint: Checkpoint) -> None:
    """One of the entries is in the log, or the last one's `Tampered` is raised."""
    refusal = Tampered("there is no entry to look for")
    for entry in entries:
        try:
            check_inclusion(leaf_hash(entry), proof.index, checkpoint.size, proof.path, checkpoint.root)
        except Tampered as error:
            refusal = error
        else:
            return
    raise refusal


def _signer(note: str, verifiers: Iterable[Verifier]) -> str | None:
    """Return the trusted key that signed, None if no trusted one claims to; a wrong signature raises."""
    text, signatures = split_note(note)
    known = {(each.name, each.key_id): each for each in verifiers}
    found = [(known.get((each.name, each.key_id)), each) for each in signatures]
    for verifier, signature in found:
        if verifier and not verifier.accepts(text, signature.data):
            raise BadBundle(
                "CHECKPOINT_UNSIGNED", f"the signature of {verifier.name} does not fit its checkpoint"
            )
    return next((verifier.vkey() for verifier, _ in found if verifier), None)
