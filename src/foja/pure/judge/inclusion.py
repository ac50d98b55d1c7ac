"""The position of an entry in a log, and the trusted key that signed it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from foja.errors import BadBundle, Refused, Tampered
from foja.pure.core.merkle import check_inclusion, leaf_hash
from foja.pure.core.note import Checkpoint, NoteSignature, Verifier, parse_checkpoint, split_note
from foja.pure.core.proof import MAX_BYTES, Proof, parse_proof
from foja.pure.judge.trust import Trust
from foja.pure.proofs.cosignature import Cosignature, find_cosignatures
from foja.pure.proofs.finding import Finding, Reason, Status, TrustItem
from foja.pure.quotation import quoted

if TYPE_CHECKING:
    from foja.pure.proofs.cose.receipt import Signed

OTHERS = "whether others see the same log"
ORDER_ONLY = "when it was recorded: a log proves order, not time"
NOT_CHECKED = (ORDER_ONLY, OTHERS)

_KEYS_NAMED = 4  # a checkpoint may have signatures of any number of keys


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A valid position in a log; trusted only if `signer` is a trusted key."""

    proof: Proof
    checkpoint: Checkpoint
    signer: str | None
    cosignatures: tuple[Cosignature, ...] = ()  # of trusted cosigners, each once
    key: str = ""  # the key that a receipt names; empty if the proof has a note


def find_inclusion(data: bytes, entries: Iterable[bytes], trust: Trust, name: str) -> Inclusion:
    """Return the position of one of these entries by a proof, or raise `BadBundle`."""
    try:
        proof = parse_proof(data.decode())
        text, signatures = split_note(proof.note)
        checkpoint = parse_checkpoint(text)
        signer = _signer(text, signatures, trust.logs, checkpoint.origin)
        cosignatures = _cosignatures(proof.note, trust) if trust.cosigners else ()
        _check_included(entries, proof, checkpoint)
    except BadBundle:
        raise
    except UnicodeDecodeError:
        raise BadBundle("MALFORMED", f"{name} is not text in UTF-8") from None
    except (Tampered, Refused) as error:
        raise BadBundle("INCLUSION_INVALID", f"{name}: {error}") from None
    return Inclusion(proof, checkpoint, signer, cosignatures)


def find_receipt(data: bytes, entries: Iterable[bytes], trust: Trust, name: str) -> Inclusion:
    """Return the position of one of these entries by a COSE receipt, or raise `BadBundle`.

    A receipt holds no root: only the right entry leads to the one that was signed.
    """
    from foja.pure.proofs.cose import Receipt, read_receipt  # late: few proofs are receipts

    try:
        receipt = read_receipt(data)
        if not isinstance(receipt, Receipt):
            raise Tampered("the receipt is about a checkpoint; give the older checkpoint with it")
        found = [receipt.check(each) for each in entries]
    except (Tampered, Refused) as error:
        raise BadBundle("INCLUSION_INVALID", f"{name}: {error}") from None
    checkpoint, signer = _signed_one(receipt, found, trust, name)
    place = Proof(receipt.index, receipt.path, "")
    return Inclusion(place, checkpoint, signer, key=receipt.key)


def _signed_one(
    receipt: Signed, found: Sequence[Checkpoint], trust: Trust, name: str
) -> tuple[Checkpoint, str | None]:
    """Return the checkpoint that a trusted key signed, and the key; else the first one and None."""
    from foja.pure.proofs.cose.receipt import key_name

    named = [each for each in trust.logs if key_name(each) == receipt.key]
    checkpoint = found[0]
    for verifier in named:
        signed = [each for each in found if receipt.is_signed_by(verifier, each.root)]
        if not signed:
            raise BadBundle("CHECKPOINT_UNSIGNED", f"{name}: {verifier.name} did not sign it for this entry")
        checkpoint = signed[0]
        if not verifier.signs_for(receipt.origin):
            raise _of_another_log(verifier, receipt.origin)
    return checkpoint, named[0].vkey() if named else None


def is_checkpoint(data: bytes) -> bool:
    """Return whether this file is a checkpoint, signed by anyone."""
    try:
        return len(data) <= MAX_BYTES and bool(parse_checkpoint(split_note(data)[0]))
    except (Tampered, Refused):
        return False


def check_growth(note: bytes, data: bytes, trust: Trust) -> Finding:
    """Return what a COSE receipt shows about a checkpoint: that a newer tree of the log continues it."""
    from foja.pure.proofs.cose import ConsistencyReceipt, read_receipt

    try:
        old = parse_checkpoint(split_note(note)[0])
        receipt = read_receipt(data)
        if not isinstance(receipt, ConsistencyReceipt):
            raise Tampered("the receipt is about an event; give the file of the event with it")
        new, signer = _signed_one(receipt, [receipt.check(old)], trust, "the receipt")
    except BadBundle as error:
        return refusal("ledger", error)
    except (Tampered, Refused) as error:
        return Finding("ledger", Status.INVALID, Reason.INCLUSION_INVALID, f"the receipt: {error}")
    grown = Inclusion(Proof(0, receipt.path, ""), new, signer, key=receipt.key)
    if signer is None:
        return unsigned(grown)
    detail = f"{new.size} entries of {quoted(new.origin)} continue the {old.size} of this checkpoint"
    rests_on = (log_item(grown),)
    return Finding("ledger", Status.VERIFIED, detail=detail, not_checked=NOT_CHECKED, rests_on=rests_on)


def _check_included(entries: Iterable[bytes], proof: Proof, checkpoint: Checkpoint) -> None:
    """Raise the last entry's `Tampered` unless one of the entries is in the log."""
    refusal: Tampered | None = None
    for entry in entries:
        try:
            check_inclusion(leaf_hash(entry), proof.index, checkpoint.size, proof.path, checkpoint.root)
        except Tampered as error:
            refusal = error
        else:
            return
    raise refusal or Tampered("no entry was given to look for")


def is_included(entry: bytes, inclusion: Inclusion) -> bool:
    """Return whether this is the entry that was found in the log."""
    try:
        _check_included([entry], inclusion.proof, inclusion.checkpoint)
    except Tampered:
        return False
    return True


def _signer(
    text: str, signatures: Iterable[NoteSignature], verifiers: Iterable[Verifier], origin: str
) -> str | None:
    """Return the trusted key that signed, or None; raise `BadBundle` for a wrong signature of one.

    A key signs only for the log of its own name.
    """
    known = {(each.name, each.key_id): each for each in verifiers}
    found = [(known.get((each.name, each.key_id)), each) for each in signatures]
    for verifier, signature in found:
        if verifier and not verifier.accepts(text, signature.data):
            raise BadBundle(
                "CHECKPOINT_UNSIGNED",
                f"the signature of {quoted(verifier.name)} does not match the checkpoint",
            )
        if verifier and not verifier.signs_for(origin):
            raise _of_another_log(verifier, origin)
    return next((verifier.vkey() for verifier, _ in found if verifier), None)


def _of_another_log(verifier: Verifier, origin: str) -> BadBundle:
    detail = f"the key of {quoted(verifier.name)} signed a checkpoint of another log, {quoted(origin)}"
    return BadBundle("CHECKPOINT_UNSIGNED", detail)


def _cosignatures(note: str, trust: Trust) -> tuple[Cosignature, ...]:
    """Return those of trusted cosigners; raise `BadBundle` for a wrong one. No log vouches for itself."""
    try:
        return find_cosignatures(note, trust.cosigners, {each.public_key for each in trust.logs})
    except Tampered as error:
        raise BadBundle("COSIGNATURE_INVALID", str(error)) from None


def check_note(content: BinaryIO, trust: Trust) -> tuple[Finding | None, tuple[str, ...]]:
    """Return who signed a file that is a checkpoint, and what was not checked about it.

    A proof over such a file proves when its bytes existed. Whether its log signed it is another question.
    """
    content.seek(0)
    data = content.read(MAX_BYTES + 1)
    try:
        note = data[:MAX_BYTES].decode()
        text, signatures = split_note(note)
        checkpoint = parse_checkpoint(text)
    except (UnicodeDecodeError, Tampered, Refused):
        return None, ()
    try:
        signer = _signer(text, signatures, trust.logs, checkpoint.origin)
    except BadBundle as error:
        return refusal("ledger", error), ()
    if signer is None:
        return None, (f"whether the log {quoted(checkpoint.origin)} signed this checkpoint",)
    detail = f"the log {quoted(checkpoint.origin)} signed this checkpoint of {checkpoint.size} entries"
    return Finding("ledger", Status.VERIFIED, detail=detail, not_checked=NOT_CHECKED), ()


def unsigned(inclusion: Inclusion) -> Finding:
    """Return the finding about an inclusion that no trusted key signed."""
    origin, keys = inclusion.checkpoint.origin, {inclusion.key: None}
    if not inclusion.key:
        signatures = split_note(inclusion.proof.note)[1]
        keys = dict.fromkeys(f"{each.name}+{each.key_id.hex()}" for each in signatures)
    missing = tuple(TrustItem("log", origin, key) for key in [*keys][:_KEYS_NAMED])
    detail = f"no key you trust signed the log {quoted(origin)}"
    return Finding("ledger", Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR, detail, missing=missing)


def log_item(inclusion: Inclusion) -> TrustItem:
    """Return the key of the log that signed, without its public part."""
    return TrustItem("log", inclusion.checkpoint.origin, "+".join((inclusion.signer or "").split("+")[:2]))


def refusal(evidence: str, error: BadBundle) -> Finding:
    """Return the finding about evidence that is refused."""
    return Finding(evidence, Status.INVALID, Reason(error.code), str(error))
