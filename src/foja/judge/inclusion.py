"""The position of an entry in a log, and the trusted key that signed it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from foja.core.merkle import check_inclusion, leaf_hash
from foja.core.note import Checkpoint, Verifier, parse_checkpoint, split_note
from foja.core.proof import Proof, parse_proof
from foja.errors import BadBundle, Refused, Tampered

NOT_CHECKED = ("when it was recorded: a log proves order, not time", "whether others see the same log")


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A valid position in a log; trusted only if `signer` is a trusted key."""

    proof: Proof
    checkpoint: Checkpoint
    signer: str | None


def find_inclusion(
    data: bytes, entries: Iterable[bytes], verifiers: Iterable[Verifier], name: str
) -> Inclusion:
    """Return the position of one of these entries by a proof, or raise `BadBundle`."""
    try:
        proof = parse_proof(data.decode())
        signer = _signer(proof.note, verifiers)
        checkpoint = parse_checkpoint(split_note(proof.note)[0])
        _check_included(entries, proof, checkpoint)
    except BadBundle:
        raise
    except UnicodeDecodeError:
        raise BadBundle("MALFORMED", f"{name} is not text in UTF-8") from None
    except (Tampered, Refused) as error:
        raise BadBundle("INCLUSION_INVALID", f"{name}: {error}") from None
    return Inclusion(proof, checkpoint, signer)


def _check_included(entries: Iterable[bytes], proof: Proof, checkpoint: Checkpoint) -> None:
    """Raise the last entry's `Tampered` unless one of the entries is in the log."""
    refusal = Tampered("no entry was given to look for")
    for entry in entries:
        try:
            check_inclusion(leaf_hash(entry), proof.index, checkpoint.size, proof.path, checkpoint.root)
        except Tampered as error:
            refusal = error
        else:
            return
    raise refusal


def _signer(note: str, verifiers: Iterable[Verifier]) -> str | None:
    """Return the trusted key that signed, or None; raise `BadBundle` for a wrong signature of one."""
    text, signatures = split_note(note)
    known = {(each.name, each.key_id): each for each in verifiers}
    found = [(known.get((each.name, each.key_id)), each) for each in signatures]
    for verifier, signature in found:
        if verifier and not verifier.accepts(text, signature.data):
            raise BadBundle(
                "CHECKPOINT_UNSIGNED", f"the signature of {verifier.name} does not match the checkpoint"
            )
    return next((verifier.vkey() for verifier, _ in found if verifier), None)
