"""`foja log status`, `key`, `checkpoint`, `prove` and `restart`."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from pathlib import Path

from foja.engine.driver.snapshot import Snapshot
from foja.engine.ledger.excerpts import EventProof, prove_event
from foja.engine.observe.logs import CosignerState, LogState, read_cosigners, read_logs
from foja.engine.observe.snapshot import snapshot
from foja.errors import ObjectMissing, SetupFailed, Tampered
from foja.interfaces.cli.installation import (
    open_database,
    open_installation,
    open_object_store,
    read_verifiers,
)
from foja.interfaces.cli.log.verify import event_file
from foja.interfaces.cli.output import (
    print_json,
    print_line,
    print_or_write,
    print_result,
    table,
)
from foja.interfaces.cli.output_files import check_targets, write_file
from foja.pure.core.bundle.proof_file import SUFFIX
from foja.pure.core.note import Verifier, parse_checkpoint, split_note

HEAD = ("origin", "name", "leaves", "published", "waiting", "state")
COSIGNERS = ("origin", "cosigner", "cosigned", "state", "since")


async def status(arguments: Namespace) -> int:
    """Print every log; return 1 if the open one is halted."""
    async with open_database(arguments) as url, snapshot(url) as moment:
        logs, cosigners = await read_logs(moment), await read_cosigners(moment)
    documents = [
        log.document() | {"cosigners": [each.document() for each in cosigners if each.origin == log.origin]}
        for log in logs
    ]
    lines = [*table(HEAD, [_row(log) for log in logs])]
    if cosigners:
        lines += ["", *table(COSIGNERS, [_cosigner_row(each) for each in cosigners])]
    print_result(arguments, documents, *lines)
    return 1 if any(log.halted and log.closed_size is None for log in logs) else 0


async def key(arguments: Namespace) -> None:
    """Print the public key of the log."""
    async with open_database(arguments) as url:
        verifier = (await read_verifiers(arguments, url))[0]
    text = verifier.pem() if arguments.pem else verifier.vkey()
    print_result(arguments, {"key": text}, *text.splitlines())


async def checkpoint(arguments: Namespace) -> None:
    """Print the newest published checkpoint."""
    note = await _read_newest_checkpoint(arguments)
    advice = "save it where the administrators of the database cannot write"
    print_or_write(arguments, "checkpoint", note, advice)


async def prove(arguments: Namespace) -> None:
    """Write an event and its proof, after checking both as a verifier would."""
    async with open_installation(arguments) as app:
        proven, vkey = await prove_event(app.ledger, arguments.entity, arguments.seq), app.trust[0]
    proven.proof.check(proven.excerpt.check(), [Verifier.from_vkey(vkey)])
    if arguments.output and arguments.output.suffix == SUFFIX:
        _write_one(arguments, proven)
    elif arguments.json:
        print_json({"proof": proven.proof_text(), "event": proven.event_text(), "key": vkey})
    elif arguments.output:
        _write(arguments, proven, vkey)
    else:
        print(proven.proof_text(), end="")
        if arguments.event:
            write_file(arguments, arguments.event, proven.event_text())


async def restart(arguments: Namespace) -> None:
    """Open a new log that names the head of the old one."""
    if not arguments.yes:
        raise SetupFailed(
            "a restart closes the log at its last published size, numbers the rest again in a new log and"
            " resets every reader; if the log is halted, repeat the command with --yes"
        )
    async with open_installation(arguments, any_log_key=True) as app:
        log = await app.sequencer.restart()
    document = {"origin": log.origin, "name": log.name}
    print_result(arguments, document, f"log {log.origin} is open: {log.name}")


def _write_one(arguments: Namespace, proven: EventProof) -> None:
    """Write event, proof and checkpoint as one file."""
    write_file(arguments, arguments.output, proven.file())
    print_result(
        arguments,
        {"file": arguments.output, "index": proven.index, "size": proven.size},
        f"wrote {arguments.output}",
        f"verify it anywhere: foja verify {arguments.output} --trust foja.vkey",
        "send the key separately: `foja log key` prints it",
    )


def _write(arguments: Namespace, proven: EventProof, vkey: str) -> None:
    event_path: Path = arguments.event or event_file(arguments.output)
    check_targets(arguments, arguments.output, event_path)
    write_file(arguments, arguments.output, proven.proof_text())
    write_file(arguments, event_path, proven.event_text())
    print_line(f"wrote {arguments.output} and {event_path}")
    print_line(f"verify them anywhere: foja log verify {arguments.output} --event {event_path} --key {vkey}")


async def _read_newest_checkpoint(arguments: Namespace) -> str:
    """Return the newest checkpoint, with its cosignatures; of a closed log if the open one has none."""
    store = open_object_store(arguments)
    async with open_database(arguments) as url, snapshot(url) as moment:
        for log in reversed(await read_logs(moment)):
            with contextlib.suppress(ObjectMissing):
                note = (await store.read(log.path("checkpoint"))).data.decode(errors="replace")
                return note + await _cosignatures(moment, log, note)
    raise ObjectMissing("no checkpoint is published yet; run `foja worker`")


async def _cosignatures(moment: Snapshot, log: LogState, note: str) -> str:
    """Return the cosignatures of a checkpoint; none of one that cannot be read."""
    try:
        size = parse_checkpoint(split_note(note)[0]).size
    except Tampered:
        return ""
    return str((await moment.row("cosignatures", origin=log.origin, size=size))[0])


def _cosigner_row(cosigner: CosignerState) -> tuple[object, ...]:
    state = f"{cosigner.fault}: {cosigner.detail}" if cosigner.fault else "cosigned"
    name = "+".join(cosigner.key.split("+")[:2])
    return cosigner.origin, name, cosigner.cosigned, state, cosigner.since.isoformat(timespec="seconds")


def _row(log: LogState) -> tuple[object, ...]:
    state = f"closed at {log.closed_size}" if log.closed_size is not None else log.halted or "open"
    return log.origin, log.name, log.size, log.published, log.waiting, state
