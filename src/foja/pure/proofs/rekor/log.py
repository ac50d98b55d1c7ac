"""What a log signed: its checkpoint, the entry under it, the promised time, and newer trees."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from foja.errors import Tampered
from foja.pure.core.canonical import canonical
from foja.pure.core.event import from_seconds
from foja.pure.core.merkle import check_consistency, check_inclusion, leaf_hash
from foja.pure.core.note import Checkpoint, Verifier, parse_checkpoint, split_note
from foja.pure.proofs.finding import Flaw, Reason, Status, TrustItem, flaw_if_tampered
from foja.pure.proofs.keys import signs
from foja.pure.proofs.rekor.bundle import LogEntry
from foja.pure.proofs.rekor.trusted_root import TransparencyLog
from foja.pure.quotation import quoted

_ID_BYTES = 4
OF_A_LEDGER = (
    "the entry is in the log of a ledger, which cannot vouch for itself; the key of a Rekor log is trusted as"
    " `rekor:name+id+key`"
)


@dataclass(frozen=True, slots=True)
class Growth:
    """A newer checkpoint of a log, and the hashes that lead to it from a tree of `size` entries."""

    size: int
    note: str
    path: tuple[bytes, ...]


def find_log(
    entry: LogEntry, logs: Iterable[TransparencyLog], ledgers: Iterable[Verifier]
) -> TransparencyLog:
    """Return the trusted log that the entry names, or raise `Flaw`. No log of a ledger is one."""
    own = [TransparencyLog.of(each) for each in ledgers]
    for log in (*own, *logs):
        if log.id == entry.log_id and any(log.key == each.key for each in own):
            raise Flaw(Reason.NO_TRUST_ANCHOR, OF_A_LEDGER, Status.INDETERMINATE)
        if log.id == entry.log_id:
            return log
    detail = f"the entry is in a log you do not trust: {entry.log_id.hex()}"
    missing = TrustItem("sigstore", "the log of the entry", f"log id {entry.log_id.hex()}")
    raise Flaw(Reason.NO_TRUST_ANCHOR, detail, Status.INDETERMINATE, (missing,))


def check_entry(entry: LogEntry, log: TransparencyLog) -> Checkpoint:
    """R3 and R4: return the signed checkpoint that covers the entry."""
    if entry.inclusion is None:
        detail = f"{quoted(log.name)} promised to record the entry, but there is no inclusion proof"
        raise Flaw(Reason.NO_INCLUSION_PROOF, detail, Status.INDETERMINATE)
    inclusion = entry.inclusion
    checkpoint = signed_checkpoint(inclusion.checkpoint, log)
    if (inclusion.root, inclusion.size) != (checkpoint.root, checkpoint.size):
        raise Flaw(Reason.INCLUSION_INVALID, "the proof is not about the tree of the signed checkpoint")
    leaf = leaf_hash(entry.body)
    with flaw_if_tampered(Reason.INCLUSION_INVALID):
        check_inclusion(leaf, inclusion.index, checkpoint.size, inclusion.path, checkpoint.root)
    return checkpoint


def promised_time(entry: LogEntry, log: TransparencyLog) -> datetime | None:
    """Return the time at which the log took the entry, if it signed one; version 2 never does."""
    if entry.promise is None or entry.integrated is None:
        _check_unpromised(entry)
        return None
    promised = {
        "body": b64encode(entry.body).decode(),
        "integratedTime": entry.integrated,
        "logID": entry.log_id.hex(),
        "logIndex": entry.index,
    }
    if not signs(log.key, entry.promise, canonical(promised)):
        raise Flaw(
            Reason.SIGNATURE_INVALID, f"{quoted(log.name)} did not sign this time and index of the entry"
        )
    time = from_seconds(entry.integrated)
    if time is None:
        raise Flaw(Reason.MALFORMED, "the time of the entry is beyond the calendar")
    return time


def _check_unpromised(entry: LogEntry) -> None:
    """Raise `Flaw` if unsigned fields of the entry contradict what the log signed."""
    if entry.promise is not None or entry.integrated is not None:
        raise Flaw(Reason.SIGNATURE_INVALID, "the entry has a time or a promise, but not both")
    if entry.inclusion and entry.index != entry.inclusion.index:
        raise Flaw(Reason.INCLUSION_INVALID, "the entry and its inclusion proof have different indexes")


def signed_checkpoint(note: str, log: TransparencyLog) -> Checkpoint:
    """Return the checkpoint in a note that this log signed, or raise `Flaw`."""
    with flaw_if_tampered(Reason.MALFORMED):
        text, signatures = split_note(note)
        checkpoint = parse_checkpoint(text)
    own = [each for each in signatures if each.key_id == log.id[:_ID_BYTES] and each.name == log.name]
    if len(own) != 1 or not signs(log.key, own[0].data, text.encode()):
        raise Flaw(Reason.CHECKPOINT_UNSIGNED, f"{quoted(log.name)} did not sign this checkpoint")
    if checkpoint.origin.partition(" - ")[0] != log.name:
        raise Flaw(Reason.CHECKPOINT_UNSIGNED, f"the checkpoint is of another log than {quoted(log.name)}")
    return checkpoint


def check_growth(checkpoint: Checkpoint, log: TransparencyLog, growths: Iterable[Growth]) -> int | None:
    """R6: return the size of the newest tree that begins with this one, or None if none was given.

    A checkpoint that the log did not sign is ignored. Two signed trees that contradict each other are a flaw.
    """
    sizes = [_newer_size(checkpoint, log, each) for each in growths if each.size == checkpoint.size]
    return max((size for size in sizes if size is not None), default=None)


def _newer_size(checkpoint: Checkpoint, log: TransparencyLog, growth: Growth) -> int | None:
    try:
        newer = signed_checkpoint(growth.note, log)
    except Flaw:
        return None
    if newer.origin != checkpoint.origin or newer.size < checkpoint.size:
        return None
    try:
        check_consistency(checkpoint.size, checkpoint.root, newer.size, newer.root, growth.path)
    except Tampered as error:
        raise Flaw(
            Reason.LOG_INCONSISTENT, f"{quoted(log.name)} signed inconsistent trees: {error}"
        ) from None
    return newer.size
