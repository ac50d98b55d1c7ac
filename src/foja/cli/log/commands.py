"""`foja log`: where the log stands, its checkpoint and key, proofs out of it, a new one."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from pathlib import Path

from foja.cli.installation import opened, published, recorded, verifiers
from foja.cli.log.verify import event_file
from foja.cli.output import complain, document, say, table
from foja.core.note import Verifier
from foja.errors import ObjectMissing
from foja.ledger.event_proof import EventProof, prove_event
from foja.observe.logs import LogState, read_logs
from foja.observe.snapshot import snapshot

HEAD = ("origin", "name", "leaves", "published", "waiting", "state")


async def status(arguments: Namespace) -> int:
    """Show every log; 1 if the open one is halted."""
    logs = await _logs(arguments)
    if arguments.json:
        document([log.document() for log in logs])
    else:
        table(HEAD, [_row(log) for log in logs])
    return 1 if any(log.halted and log.closed_size is None for log in logs) else 0


async def key(arguments: Namespace) -> int:
    """Print the public key."""
    async with recorded(arguments) as url:
        vkey = (await verifiers(arguments, url))[0].vkey()
    if arguments.json:
        document({"key": vkey})
    else:
        say(vkey)
    return 0


async def checkpoint(arguments: Namespace) -> int:
    """Print the newest checkpoint that the world can see."""
    note = await _newest_checkpoint(arguments)
    if arguments.json:
        document({"checkpoint": note})
    elif arguments.output:
        arguments.output.write_text(note, encoding="utf-8")
        say(f"wrote {arguments.output}; keep it where nobody who can write to the database can write")
    else:
        print(note, end="")
    return 0


async def prove(arguments: Namespace) -> int:
    """Write an event and the proof of its place, checked as a stranger would."""
    async with opened(arguments) as app:
        proven, vkey = await prove_event(app.ledger, arguments.entity, arguments.seq), app.trust[0]
    proven.proof.check(proven.excerpt.check(), [Verifier.from_vkey(vkey)])
    if arguments.json:
        document({"proof": proven.proof_text(), "event": proven.event_text(), "key": vkey})
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
        complain(
            "this closes the log at its last published size, numbers the rest again in a new one and resets"
            " every reader; use it when the log is halted, and repeat it with --yes"
        )
        return 2
    async with opened(arguments) as app:
        log = await app.sequencer.restart()
    if arguments.json:
        document({"origin": log.origin, "name": log.name})
    else:
        say(f"log {log.origin} is open: {log.name}")
    return 0


def _write(arguments: Namespace, proven: EventProof, vkey: str) -> None:
    beside: Path = arguments.event or event_file(arguments.output)
    arguments.output.write_text(proven.proof_text(), encoding="utf-8")
    beside.write_text(proven.event_text(), encoding="utf-8")
    say(f"wrote {arguments.output} and {beside}")
    say(f"check them anywhere: foja log verify {arguments.output} --event {beside} --key {vkey}")


async def _logs(arguments: Namespace) -> list[LogState]:
    async with recorded(arguments) as url, snapshot(url) as moment:
        return await read_logs(moment)


async def _newest_checkpoint(arguments: Namespace) -> str:
    """Return the newest checkpoint, also of a closed log while the open one has none."""
    for log in reversed(await _logs(arguments)):
        with contextlib.suppress(ObjectMissing):
            return (await published(arguments).read(log.path("checkpoint"))).data.decode(errors="replace")
    raise ObjectMissing("no checkpoint was published yet; let `foja worker` run")


def _row(log: LogState) -> tuple[object, ...]:
    state = f"closed at {log.closed_size}" if log.closed_size is not None else log.halted or "open"
    return log.origin, log.name, log.size, log.published, log.waiting, state
