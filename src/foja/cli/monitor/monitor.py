"""`foja monitor`: follow the log of others, and vouch for what it shows."""

from __future__ import annotations

import asyncio
import logging
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from foja.cli.installation import read_settings
from foja.cli.output import print_error, print_json_line, print_line, print_or_write, print_result
from foja.cli.services import print_started, run_until_stopped
from foja.cli.verify.verify import trust_item
from foja.errors import ObjectMissing, SetupFailed, Tampered, Unavailable
from foja.judge.trust_parser import read
from foja.monitor.follower import Monitor
from foja.monitor.signer import FOLDER, own_signer
from foja.monitor.signer import vouch as sign_statement
from foja.monitor.source import open_source
from foja.monitor.state import State, read_state, write_state
from foja.monitor.streams import Finding
from foja.remote.notice import post_notice

STATE, NOTICE_SECONDS = "state", 10.0
NO_KEY = "name the key of the log with --trust; its operator prints it with `foja log key`"
log = logging.getLogger("foja.monitor")


async def monitor(arguments: Namespace) -> int:
    """Follow a log, print the key of this monitor, or vouch for a stream, as the first word says."""
    match arguments.words:
        case ["key"]:
            return _print_key(arguments)
        case ["vouch", stream]:
            return _vouch(arguments, stream)
        case ["vouch", *_]:
            raise SetupFailed("name the stream to vouch for: foja monitor vouch STREAM")
        case [place]:
            return await _follow(arguments, place)
    raise SetupFailed("name one log: a URL, or the folder of its files")


def _print_key(arguments: Namespace) -> int:
    vkey = own_signer(read_settings(arguments).home, arguments.name).verifier().vkey()
    print_result(arguments, {"key": vkey}, vkey)
    return 0


def _vouch(arguments: Namespace, stream: str) -> int:
    try:
        entity_id = UUID(stream)
    except ValueError:
        raise SetupFailed(f"{stream} is not the id of a stream: expected a UUID") from None
    path = _state_path(arguments)
    state = read_state(path)
    if state is None or not state.time:
        raise SetupFailed(f"{path} has no complete poll yet; `foja monitor URL --trust KEY` makes one")
    note = sign_statement(state, entity_id, own_signer(read_settings(arguments).home, arguments.name))
    advice = "give it with the evidence: foja verify BUNDLE --proof FILE"
    print_or_write(arguments, "statement", note, advice)
    return 0


async def _follow(arguments: Namespace, place: str) -> int:
    trust = read([trust_item(each) for each in arguments.trust])
    path = _state_path(arguments)
    names = {each.name for each in trust.logs}
    if len(names) != 1:
        raise SetupFailed(NO_KEY)
    state = read_state(path) or State(names.pop())
    if names and state.name not in names:
        raise SetupFailed(f"{path} is about the log {state.name}; name another file with --state")
    async with open_source(place) as source:
        follower = Monitor(source, trust.logs, trust.restarts, state)
        if arguments.every is None:
            await _poll(follower, path)
            print_result(arguments, _document(state), *_lines(state))
            return 1 if state.faults else 0
        print_started(arguments, f"following {place} every {arguments.every:g} seconds", log=place)
        task = asyncio.create_task(_serve(arguments, follower, path))
        return await run_until_stopped(arguments, task)


async def _serve(arguments: Namespace, follower: Monitor, path: Path) -> None:
    """Poll for ever. A log that cannot be read is tried again; what is found is told once."""
    webhook, failing = read_settings(arguments).alert_webhook_url, False
    while True:
        try:
            await _poll(follower, path)
            if failing:
                log.info("the log can be read again")
            failing = False
        except (Unavailable, ObjectMissing, Tampered) as error:
            if not failing:
                log.error("the log cannot be read: %s", error)
            failing = True
        for each in follower.new:
            await _tell(arguments, each, webhook)
        await asyncio.sleep(arguments.every)


async def _poll(follower: Monitor, path: Path) -> None:
    """Read what is new, and store it before anybody is told."""
    try:
        await follower.poll(int(time.time()))
    finally:
        await asyncio.to_thread(write_state, path, follower.state)


async def _tell(arguments: Namespace, found: Finding, webhook: str) -> None:
    """Tell of a finding: in the log, as a line, and to the address for alerts if there is one."""
    (log.error if found.is_fault else log.warning)("%s: %s", found.kind, found.detail)
    if arguments.json:
        print_json_line(asdict(found))
    else:
        print_line(_line(found))
    if webhook:
        body = {"event": "fired", "alert": "log_monitor", "summary": found.detail, **asdict(found)}
        try:
            await post_notice(webhook, body, str(uuid4()), seconds=NOTICE_SECONDS)
        except Unavailable as error:
            print_error(str(error))


def _state_path(arguments: Namespace) -> Path:
    path: Path | None = arguments.state
    return path or read_settings(arguments).home / FOLDER / STATE


def _document(state: State) -> dict[str, Any]:
    return {
        "log": state.name,
        "time": state.time,
        "streams": len(state.rows),
        "entries": state.entries,
        "logs": [
            {"number": each.number, "origin": each.origin, "size": each.frontier.size}
            | {"root": each.frontier.root().hex(), "closed": each.closed}
            for each in state.logs.values()
        ],
        "findings": [asdict(each) for each in state.findings],
    }


def _lines(state: State) -> Sequence[str]:
    logs = [f"{each.origin}: {each.frontier.size} entries" for each in state.logs.values()]
    read_all = f"{len(state.rows)} streams, {state.entries} entries read"
    faults = len(state.faults)
    result = f"✗ {faults} faults: this log shows more than one history" if faults else "✓ no fork was found"
    return [*logs, read_all, *map(_line, state.findings), result]


def _line(found: Finding) -> str:
    return f"{'✗' if found.is_fault else '·'} {found.kind}: {found.detail}"
