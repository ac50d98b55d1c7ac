"""`foja log status`, `key`, `checkpoint`, `prove` and `restart`."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from pathlib import Path

from foja.cli.installation import open_database, open_installation, open_object_store, read_verifiers
from foja.cli.log.verify import event_file
from foja.cli.output import print_error, print_json, print_line, print_table
from foja.core.note import Verifier
from foja.errors import ObjectMissing
from foja.ledger.event_proof import EventProof, prove_event
from foja.observe.logs import LogState, read_logs
from foja.observe.snapshot import snapshot

HEAD = ("origin", "name", "leaves", "published", "waiting", "state")


async def status(arguments: Namespace) -> int:
    """Print every log; return 1 if the open one is halted."""
    logs = await _read_logs(arguments)
    if arguments.json:
        print_json([log.document() for log in logs])
    else:
        print_table(HEAD, [_row(log) for log in logs])
    return 1 if any(log.halted and log.closed_size is None for log in logs) else 0


async def key(arguments: Namespace) -> int:
    """Print the public key of the log."""
    async with open_database(arguments) as url:
        vkey = (await read_verifiers(arguments, url))[0].vkey()
    if arguments.json:
        print_json({"key": vkey})
    else:
        print_line(vkey)
    return 0


async def checkpoint(arguments: Namespace) -> int:
    """Print the newest published checkpoint."""
    note = await _read_newest_checkpoint(arguments)
    if arguments.json:
        print_json({"checkpoint": note})
    elif arguments.output:
        arguments.output.write_text(note, encoding="utf-8")
        print_line(f"wrote {arguments.output}; save it where the administrators of the database cannot write")
    else:
        print(note, end="")
    return 0


async def prove(arguments: Namespace) -> int:
    """Write an event and its proof, after checking both as a verifier would."""
    async with open_installation(arguments) as app:
        proven, vkey = await prove_event(app.ledger, arguments.entity, arguments.seq), app.trust[0]
    proven.proof.check(proven.excerpt.check(), [Verifier.from_vkey(vkey)])
    if arguments.json:
        print_json({"proof": proven.proof_text(), "event": proven.event_text(), "key": vkey})
    elif arguments.output:
        _write(arguments, proven, vkey)
    else:
        print(proven.proof_text(), end="")
        if arguments.event:
            arguments.event.write_text(proven.event_text(), encoding="utf-8")
    return 0


async def restart(arguments: Namespace) -> int:
    """Open a new log that names the head of the old one."""
    if not arguments.yes:
        print_error(
            "a restart closes the log at its last published size, numbers the rest again in a new log and"
            " resets every reader; if the log is halted, repeat the command with --yes"
        )
        return 2
    async with open_installation(arguments) as app:
        log = await app.sequencer.restart()
    if arguments.json:
        print_json({"origin": log.origin, "name": log.name})
    else:
        print_line(f"log {log.origin} is open: {log.name}")
    return 0


def _write(arguments: Namespace, proven: EventProof, vkey: str) -> None:
    event_path: Path = arguments.event or event_file(arguments.output)
    arguments.output.write_text(proven.proof_text(), encoding="utf-8")
    event_path.write_text(proven.event_text(), encoding="utf-8")
    print_line(f"wrote {arguments.output} and {event_path}")
    print_line(f"verify them anywhere: foja log verify {arguments.output} --event {event_path} --key {vkey}")


async def _read_logs(arguments: Namespace) -> list[LogState]:
    async with open_database(arguments) as url, snapshot(url) as moment:
        return await read_logs(moment)


async def _read_newest_checkpoint(arguments: Namespace) -> str:
    """Return the newest checkpoint; of a closed log if the open one has none."""
    logs, store = await _read_logs(arguments), open_object_store(arguments)
    for log in reversed(logs):
        with contextlib.suppress(ObjectMissing):
            return (await store.read(log.path("checkpoint"))).data.decode(errors="replace")
    raise ObjectMissing("no checkpoint is published yet; run `foja worker`")


def _row(log: LogState) -> tuple[object, ...]:
    state = f"closed at {log.closed_size}" if log.closed_size is not None else log.halted or "open"
    return log.origin, log.name, log.size, log.published, log.waiting, state
