"""`foja monitor`: follow the log of others, and vouch for what it shows."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

from foja.engine.monitor.follower import Monitor
from foja.engine.monitor.signer import FOLDER, UNREAD, own_signer
from foja.engine.monitor.signer import vouch as sign_statement
from foja.engine.monitor.source import open_source
from foja.engine.monitor.state import State, locked, read_state
from foja.errors import SetupFailed
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.cli.monitor.service import MonitorService, line_of, poll, store
from foja.interfaces.cli.output import print_error, print_or_write, print_result
from foja.interfaces.cli.services import print_started, run_until_stopped
from foja.interfaces.cli.verify.verify import trust_item
from foja.pure.judge.trust_parser import read
from foja.pure.quotation import quoted

STATE = "state"
NO_KEY = "name the key of the log with --trust; its operator prints it with `foja log key`"


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
    [name] = names
    with locked(path):
        state = read_state(path) or State(name)
        if state.name != name:
            raise SetupFailed(f"{path} is about the log {state.name}; name another file with --state")
        async with open_source(place) as source:
            follower = Monitor(source, trust.logs, trust.restarts, state)
            if arguments.every is None:
                return await _poll_once(arguments, follower, path)
            service = MonitorService(arguments, follower, path)
            print_started(arguments, f"following {place} every {arguments.every:g} seconds", log=place)
            return await run_until_stopped(arguments, asyncio.create_task(service.run()))


async def _poll_once(arguments: Namespace, follower: Monitor, path: Path) -> int:
    """Poll and print everything that is known. What was found is printed even if it cannot be stored."""
    state = follower.state
    try:
        await poll(follower, arguments.also)
    finally:
        stored = await _try_store(path, state)
    print_result(arguments, _document(follower), *_lines(follower))
    if state.faults:
        return 1
    return 0 if stored and not follower.ahead else 2


async def _try_store(path: Path, state: State) -> bool:
    try:
        await store(path, state)
    except OSError as error:
        print_error(f"the state cannot be stored in {path}: {error.strerror}")
        return False
    return True


def _state_path(arguments: Namespace) -> Path:
    path: Path | None = arguments.state
    return path or read_settings(arguments).home / FOLDER / STATE


def _document(follower: Monitor) -> dict[str, Any]:
    state = follower.state
    return {
        "log": state.name,
        "time": state.time,
        "streams": len(state.rows),
        "entries": state.entries,
        "entries_read": not state.unread,
        "logs": [
            {"number": each.number, "origin": each.origin, "size": each.frontier.size}
            | {"root": each.frontier.root().hex(), "closed": each.closed}
            for each in state.logs.values()
        ],
        "findings": [asdict(each) for each in state.findings],
        "ahead": follower.ahead,
    }


def _lines(follower: Monitor) -> Sequence[str]:
    state = follower.state
    logs = [f"{quoted(each.origin)}: {each.frontier.size} entries" for each in state.logs.values()]
    read_all = f"{len(state.rows)} streams, {state.entries} entries read"
    ahead = [f"· not compared yet: {each}; poll again" for each in follower.ahead]
    return [*logs, read_all, *map(line_of, state.findings), *ahead, _result(state)]


def _result(state: State) -> str:
    if state.faults:
        return f"✗ {len(state.faults)} faults: this log shows more than one history"
    if state.unread:
        return f"· the tree only grew; {UNREAD}"
    return "✓ no fork was found"
