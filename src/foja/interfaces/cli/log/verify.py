"""`foja log verify`: check a proof. It uses no database, no network and no settings."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from foja.errors import Refused, SetupFailed, Tampered
from foja.files import read_file
from foja.interfaces.cli.output import print_error, print_json, print_result
from foja.pure.core.canonical import MAX_BYTES as MAX_BODY
from foja.pure.core.excerpt import Excerpt, parse_excerpt
from foja.pure.core.note import Checkpoint, Verifier, parse_checkpoint, split_note
from foja.pure.core.proof import MAX_BYTES, parse_proof

EVENT_SUFFIX = ".event.json"
LARGEST_EVENT = 8 * MAX_BODY  # written with escapes and spaces
INDETERMINATE = 2
WRITES = "In the installation of the log, `foja log key > FILE` writes it"


def verify(arguments: Namespace) -> int:
    """Check a proof and its event; return 1 if either does not verify, 2 if the body is not there."""
    text, key = read_text(arguments.proof), read_key(arguments.key, "--key")
    try:
        proof = parse_proof(text)
        excerpt = _read_excerpt(arguments)
        entry: bytes = excerpt.check() if excerpt else arguments.entry
        checkpoint = proof.check(entry, [key])
    except Tampered as error:
        if arguments.json:
            print_json({"verified": False, "reason": str(error)})
        else:
            print_error(str(error))
        return 1
    result = _result(excerpt, entry, proof.index, checkpoint)
    print_result(arguments, result, *_sentences(excerpt, proof.index, checkpoint))
    return INDETERMINATE if excerpt and excerpt.erased else 0


def read_key(text: str, option: str) -> Verifier:
    """Return a public key, given as text or as the name of a file, or raise `SetupFailed`."""
    path = Path(text)
    is_file = path.exists()
    if not is_file and text.count("+") < 2:
        raise SetupFailed(
            f"{option}: there is no file {text}, and it is not a public key (name+id+key). {WRITES}"
        )
    try:
        return Verifier.from_vkey(read_text(path).strip() if is_file else text)
    except Refused as error:
        what = (
            f"the file {path} does not have a public key of a log" if is_file else "not a public key of a log"
        )
        raise SetupFailed(f"{option}: {what}: {error}. {WRITES}") from None


def read_checkpoint(path: Path, option: str) -> str:
    """Return a checkpoint; raise `SetupFailed` if the file has none. Its signature is not checked here."""
    note = read_text(path)
    try:
        parse_checkpoint(split_note(note)[0])
    except Tampered as error:
        raise SetupFailed(
            f"{option}: {path} is not a checkpoint: {error}; `foja log checkpoint -o FILE` writes one"
        ) from None
    return note


def read_text(path: Path) -> str:
    """Return the text of a file; bytes that are not UTF-8 are replaced, and the check refuses them."""
    return read_file(path, MAX_BYTES).decode(errors="replace")


def event_file(proof: Path) -> Path:
    """Return the default path of the event of a proof."""
    return proof.with_name(proof.name.removesuffix(".tlog-proof") + EVENT_SUFFIX)


def _read_excerpt(arguments: Namespace) -> Excerpt | None:
    if arguments.entry is not None:
        return None
    path = arguments.event or event_file(arguments.proof)
    if not path.exists():
        raise SetupFailed(f"the event is missing: {path} does not exist; give --event FILE or --entry HEX")
    return parse_excerpt(read_file(path, LARGEST_EVENT))


def _sentences(excerpt: Excerpt | None, index: int, checkpoint: Checkpoint) -> list[str]:
    place = f"leaf {index} of the log {checkpoint.origin}, signed at {checkpoint.size} leaves"
    if excerpt is None:
        return [f"✓ the entry is {place}"]
    if excerpt.erased:
        body = "· the body is erased or withheld: its author, its source and its content are not known"
    else:
        body = "✓ the body matches its hash"
    link = f"✓ event {excerpt.seq} of {excerpt.entity_id} matches its chain hash"
    return [body, link, f"✓ it is {place}"]


def _result(excerpt: Excerpt | None, entry: bytes, index: int, checkpoint: Checkpoint) -> dict[str, object]:
    return {
        "verified": excerpt is None or not excerpt.erased,
        "entry": entry.hex(),
        "entity_id": str(excerpt.entity_id) if excerpt else None,
        "seq": excerpt.seq if excerpt else None,
        "body": "not given" if excerpt is None else "erased or withheld" if excerpt.erased else "verified",
        "log": checkpoint.origin,
        "index": index,
        "size": checkpoint.size,
        "root": checkpoint.root.hex(),
    }
