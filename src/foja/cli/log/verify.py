"""`foja log verify`: evidence checked by whoever holds it. No database, no network, no settings."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from foja.cli.output import complain, document, say
from foja.core.excerpt import Excerpt, parse_excerpt
from foja.core.note import Checkpoint, Verifier
from foja.core.proof import parse_proof
from foja.errors import Refused, Tampered

EVENT = ".event.json"


def verify(arguments: Namespace) -> int:
    """Check a proof and the event it is about; 1 if anything disagrees."""
    try:
        proof = parse_proof(read_text(arguments.proof))
        excerpt = _excerpt(arguments)
        entry: bytes = excerpt.check() if excerpt else arguments.entry
        checkpoint = proof.check(entry, [read_key(arguments.key)])
    except Tampered as error:
        return _refuse(str(error), as_json=arguments.json)
    if arguments.json:
        document(_result(excerpt, entry, proof.index, checkpoint))
    else:
        for sentence in _sentences(excerpt, proof.index, checkpoint):
            say(f"✓ {sentence}")
    return 0


def read_key(words: str) -> Verifier:
    """Return the public key that is written here, or in the file of this name."""
    path = Path(words)
    return Verifier.from_vkey(read_text(path).strip() if path.is_file() else words)


def read_text(path: Path) -> str:
    """Return what a file says; bytes that are no text are for the check to refuse."""
    return path.read_text(encoding="utf-8", errors="replace")


def event_file(proof: Path) -> Path:
    """Return where the event of a proof lies."""
    return proof.with_name(proof.name.removesuffix(".tlog-proof") + EVENT)


def _refuse(reason: str, *, as_json: bool) -> int:
    if as_json:
        document({"verified": False, "reason": reason})
    else:
        complain(reason)
    return 1


def _excerpt(arguments: Namespace) -> Excerpt | None:
    if arguments.entry is not None:
        return None
    path = arguments.event or event_file(arguments.proof)
    if not path.exists():
        raise Refused(f"a proof is about an entry, and {path} is not there; say --event FILE or --entry HEX")
    return parse_excerpt(path.read_bytes())


def _sentences(excerpt: Excerpt | None, index: int, checkpoint: Checkpoint) -> list[str]:
    place = f"leaf {index} of the log {checkpoint.origin}, signed at {checkpoint.size} leaves"
    if excerpt is None:
        return [f"the entry is {place}"]
    body = "the body was erased; its hash holds" if excerpt.erased else "the body fits its hash"
    return [body, f"event {excerpt.seq} of {excerpt.entity_id} fits its chain hash", f"it is {place}"]


def _result(excerpt: Excerpt | None, entry: bytes, index: int, checkpoint: Checkpoint) -> dict[str, object]:
    return {
        "verified": True,
        "entry": entry.hex(),
        "entity_id": str(excerpt.entity_id) if excerpt else None,
        "seq": excerpt.seq if excerpt else None,
        "body": "not given" if excerpt is None else "erased" if excerpt.erased else "verified",
        "log": checkpoint.origin,
        "index": index,
        "size": checkpoint.size,
        "root": checkpoint.root.hex(),
    }
