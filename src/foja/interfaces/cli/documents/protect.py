"""`foja protect`: add files and folders, several at a time. Run again, it continues."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from foja.app import App
from foja.domains.documents.document import Document
from foja.domains.documents.lists import DocumentState
from foja.domains.documents.workers.executor import TYPE as EXECUTOR
from foja.engine.maintenance.loop import side_by_side
from foja.engine.tasks import end
from foja.errors import Refused, SetupFailed
from foja.interfaces.cli.documents.files import Found, digest, walk
from foja.interfaces.cli.installation import open_to_write
from foja.interfaces.cli.output import (
    Progress,
    print_error,
    print_json_line,
    print_line,
    print_lines,
    print_notes,
    progress_bar,
    table,
)
from foja.interfaces.cli.services import in_background
from foja.pure.models.documents.events import Evidence
from foja.pure.models.documents.states import EvidenceStatus, Pipeline, State
from foja.pure.quotation import quoted

MAX_PARALLEL = 16
SHOWN = 20
POLL_SECONDS = 0.1
SOON = 5.0  # seconds: --wait also waits for jobs that are due by then
Item = TypeVar("Item")


@dataclass(slots=True)
class Tally:
    """The results of all files."""

    found: Found
    done: list[Document] = field(default_factory=list)
    unread: int = 0
    refused: int = 0

    def fail(self, path: Path, error: Refused | OSError, *, json: bool) -> None:
        """Count and print a file that did not become a document."""
        detail = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        self.unread += isinstance(error, OSError)
        self.refused += isinstance(error, Refused)
        print_error(f"{path}: {detail}")
        if json:
            code = error.code if isinstance(error, Refused) else "os_error"
            print_json_line(
                {"path": str(path), "error": type(error).__name__, "code": code, "detail": detail}
            )


async def protect(arguments: Namespace) -> int:
    """Add files and request evidence; return 1 if a file fails or, with --wait, evidence is missing."""
    found = walk(arguments.files)
    if arguments.predecessor and (len(arguments.files) > 1 or arguments.files[0].is_dir()):
        raise SetupFailed("--predecessor needs exactly one file; protect the others without it")
    async with open_to_write(arguments) as app:
        with progress_bar("protecting") as bar:
            if arguments.wait:
                async with in_background(app.work()) as work:
                    tally = await _add_all(app, found, arguments, bar)
                    await wait_unless_failed(work, _wait_until_settled(app, tally, bar))
            else:
                tally = await _add_all(app, found, arguments, bar)
        return await _report(app, tally, arguments)


async def _add_all(app: App, found: Found, arguments: Namespace, bar: Progress | None) -> Tally:
    tally = Tally(found)
    for folder, error in found.unread:
        tally.fail(folder, error, json=arguments.json)
    evidence = await app.documents.check_evidence(arguments.evidence)

    async def add(file: tuple[Path, str]) -> None:
        path, name = file
        try:
            tally.done.append(await _add(app, path, name, evidence, arguments))
        except (Refused, OSError) as error:
            tally.fail(path, error, json=arguments.json)

    await run_parallel(found.files, add, None if arguments.wait else bar)
    return tally


async def run_parallel(
    items: Sequence[Item], do: Callable[[Item], Awaitable[None]], bar: Progress | None
) -> None:
    """Call `do` for each item, several at a time, and show the progress; the first error ends it."""
    remaining, done = iter(items), count(1)

    async def run() -> None:
        for item in remaining:
            await do(item)
            if bar:
                bar(next(done), len(items))

    await side_by_side(*(run() for _ in range(min(MAX_PARALLEL, len(items)))))


async def _add(app: App, path: Path, name: str, evidence: Sequence[str], arguments: Namespace) -> Document:
    predecessor: UUID | None = arguments.predecessor
    actor: str = arguments.actor
    more: dict[str, Any] = {"name": name, "predecessor": predecessor, "actor": actor}
    if arguments.hash_only:
        sha256, size = await asyncio.to_thread(digest, path)
        document = await app.documents.add_digest(sha256, size=size, **more)
    else:
        document = await app.documents.add(path, **more)
    await app.documents.protect(document.id, evidence, witness_hash=document.sha256, actor=actor)
    return document


async def _wait_until_settled(app: App, tally: Tally, bar: Progress | None) -> None:
    """Return when no job of these documents is running or due soon, or none of them goes on."""
    waiting = {document.id for document in tally.done}
    soon = SOON + app.settings.checkpoint_seconds  # an artifact waits for the next checkpoint
    length, since, clock = 0, 0.0, asyncio.get_running_loop().time
    while waiting := await app.documents.at_work(list(waiting), within=soon):
        if bar:
            bar(len(tally.done) - len(waiting), len(tally.found.files))
        if (found := await app.documents.length([each.id for each in tally.done])) != length:
            length, since = found, clock()
        elif await _is_stuck(app, clock() - since):
            return
        await asyncio.sleep(POLL_SECONDS)


async def _is_stuck(app: App, seconds: float) -> bool:
    """Return whether waiting does not help: no event for too long, or the log is halted."""
    settings = app.settings
    patience = settings.max_lag_seconds + settings.tsa_timeout_seconds * (1 + len(settings.tsa_urls.split()))
    return seconds > patience or (seconds > SOON and (await app.sequencer.current()).halted is not None)


async def wait_unless_failed(work: asyncio.Task[None], waiting: Coroutine[None, None, None]) -> None:
    """Wait for `waiting`; raise if the work fails first."""
    waited = asyncio.create_task(waiting)
    try:
        await asyncio.wait({work, waited}, return_when=asyncio.FIRST_COMPLETED)
        await (waited if waited.done() else work)
    finally:
        await end([waited])


async def _report(app: App, tally: Tally, arguments: Namespace) -> int:
    states = await app.documents.states([document.id for document in tally.done])
    missing = [each for each in tally.done if await _lacks(app, each.id, states[each.id])]
    if arguments.json:
        _print_json_report(tally, states)
    else:
        await _print_report(app, tally, states, missing, waited=arguments.wait)
    return 1 if tally.unread or tally.refused or (arguments.wait and missing) else 0


async def _lacks(app: App, document: UUID, state: DocumentState) -> bool:
    """Return whether requested evidence is missing, or the artifact if this installation builds artifacts."""
    if state.state == State.FINAL:
        return False
    if state.pipeline == Pipeline.AWAITING_ARTIFACT:
        return Evidence.ARTIFACT in app.documents.abilities
    if state.pipeline or state.state == State.NONE:
        return True
    view = await app.documents.view(document)  # closed, or of an early stage
    required = [each for each in view.evidence if each.evidence in view.required_evidence]
    return any(each.status not in (EvidenceStatus.CONFIRMED, EvidenceStatus.SUPERSEDED) for each in required)


def _print_json_report(tally: Tally, states: Mapping[UUID, DocumentState]) -> None:
    for each in tally.done:
        known = {"id": each.id, "name": each.name, "sha256": each.sha256, "new": each.new}
        print_json_line({**known, **states[each.id]._asdict()})
    for path, kind in tally.found.left_out:
        print_json_line({"path": path, "left_out": kind})


async def _print_report(
    app: App,
    tally: Tally,
    states: Mapping[UUID, DocumentState],
    missing: Sequence[Document],
    *,
    waited: bool,
) -> None:
    rows = [
        (
            states[each.id].state,
            "new" if each.new else "known",
            each.id,
            quoted(each.name) if each.name else None,
        )
        for each in tally.done[:SHOWN]
    ]
    if rows:
        print_lines(table(("state", "", "document", "name"), rows))
    if len(tally.done) > SHOWN:
        print_line(f"… and {len(tally.done) - SHOWN:,} more")
    _print_counts(tally)
    if waited:
        await _print_missing(app, missing)
    elif unprotected := sum(each.state == State.NONE for each in states.values()):
        print_line(await _awaited(app, unprotected))
    print_notes(each.note for each in states.values())


async def _awaited(app: App, unprotected: int) -> str:
    """Return what these documents wait for: a worker that runs, or one that has to be started."""
    if any(each.type == EXECUTOR for each in await app.jobs.unhandled()):
        return f"{unprotected:,} wait for a worker: run `foja worker`, or repeat the command with --wait"
    return f"{unprotected:,} wait for the worker that runs: `foja status` shows how far it is"


def _print_counts(tally: Tally) -> None:
    new = sum(each.new for each in tally.done)
    refused = f", {tally.refused:,} refused" if tally.refused else ""
    print_line(f"{new:,} added, {len(tally.done) - new:,} known, {tally.unread:,} could not be read{refused}")
    kinds = Counter(kind for _, kind in tally.found.left_out)
    if kinds:
        counts = [f"{count:,} {kind}{'s' if count > 1 else ''}" for kind, count in sorted(kinds.items())]
        print_line(f"skipped: {', '.join(counts)}")


async def _print_missing(app: App, missing: Sequence[Document]) -> None:
    """Print which documents lack evidence, and why."""
    if not missing:
        return
    lack = "lack" if len(missing) > 1 else "lacks"
    print_line(f"{len(missing):,} {lack} requested evidence or the artifact")
    if paused := await app.jobs.paused():
        print_line(f"paused: {', '.join(paused)}; `foja jobs resume TYPE` resumes them")
    for each in missing[:3]:
        print_line(f"{quoted(each.name or str(each.id))}: {await app.documents.explain(each.id)}")
