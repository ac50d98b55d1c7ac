"""`foja protect`: add files and folders, several at a time. Run again, it continues."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from foja.app import App
from foja.blobs.transfer import copy
from foja.cli.documents.files import Found, walk
from foja.cli.installation import read_settings
from foja.cli.output import Progress, print_error, print_json_line, print_line, print_table, progress_bar
from foja.cli.services import run_worker
from foja.documents.document import Document
from foja.documents.lists import DocumentState
from foja.documents.model.events import Evidence
from foja.documents.model.projection import EvidenceStatus, Pipeline, State
from foja.errors import Refused, SetupFailed

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
    async with App(read_settings(arguments)) as app:
        async with _worker_if_waiting(app, wait=arguments.wait) as work:
            with progress_bar("protecting") as bar:
                tally = await _add_all(app, found, arguments, bar)
                if work:
                    await wait_unless_failed(work, _wait_until_settled(app, tally, bar))
        return await _report(app, tally, arguments)


async def _add_all(app: App, found: Found, arguments: Namespace, bar: Progress | None) -> Tally:
    tally = Tally(found)
    for folder, error in found.unread:
        tally.fail(folder, error, json=arguments.json)
    evidence = app.documents.check_evidence(name.strip() for name in arguments.evidence.split(","))

    async def add(file: tuple[Path, str]) -> None:
        path, name = file
        try:
            tally.done.append(await _add(app, path, name, evidence, arguments))
        except (Refused, OSError) as error:
            tally.fail(path, error, json=arguments.json)
        if bar and not arguments.wait:
            bar(len(tally.done), len(found.files))

    await run_parallel(found.files, add)
    return tally


async def run_parallel(items: Sequence[Item], do: Callable[[Item], Awaitable[None]]) -> None:
    """Call `do` for each item, several at a time; the first error ends it."""
    remaining = iter(items)

    async def run() -> None:
        for item in remaining:
            await do(item)

    tasks = [asyncio.create_task(run()) for _ in range(min(MAX_PARALLEL, len(items)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _add(app: App, path: Path, name: str, evidence: Sequence[str], arguments: Namespace) -> Document:
    predecessor: UUID | None = arguments.predecessor
    if arguments.hash_only:
        sha256, size = await asyncio.to_thread(digest, path)
        document = await app.documents.add_digest(sha256, name=name, size=size, predecessor=predecessor)
    else:
        document = await app.documents.add(path, name=name, predecessor=predecessor)
    await app.documents.protect(document.id, evidence, witness_hash=document.sha256)
    return document


def digest(path: Path) -> tuple[str, int]:
    """Return the digest and the size of a file."""
    with path.open("rb") as file:
        return copy(file)


async def _wait_until_settled(app: App, tally: Tally, bar: Progress | None) -> None:
    """Return when no job of these documents is running or due soon."""
    waiting = {document.id for document in tally.done}
    soon = SOON + app.settings.checkpoint_seconds  # an artifact waits for the next checkpoint
    while waiting := await app.documents.at_work(list(waiting), within=soon):
        if bar:
            bar(len(tally.done) - len(waiting), len(tally.found.files))
        await asyncio.sleep(POLL_SECONDS)


async def wait_unless_failed(work: asyncio.Task[None], waiting: Coroutine[None, None, None]) -> None:
    """Wait for `waiting`; raise if the work fails first."""
    waited = asyncio.create_task(waiting)
    try:
        await asyncio.wait({work, waited}, return_when=asyncio.FIRST_COMPLETED)
        await (waited if waited.done() else work)
    finally:
        waited.cancel()
        await asyncio.gather(waited, return_exceptions=True)


@asynccontextmanager
async def _worker_if_waiting(app: App, *, wait: bool) -> AsyncIterator[asyncio.Task[None] | None]:
    if not wait:
        yield None
        return
    async with run_worker(app) as work:
        yield work


async def _report(app: App, tally: Tally, arguments: Namespace) -> int:
    states = await app.documents.states([document.id for document in tally.done])
    for document in tally.done if arguments.json else ():
        known = {
            "id": str(document.id),
            "name": document.name,
            "sha256": document.sha256,
            "new": document.new,
        }
        print_json_line({**known, **states[document.id]._asdict()})
    for path, kind in tally.found.left_out if arguments.json else ():
        print_json_line({"path": str(path), "left_out": kind})
    lacking = [each for each in tally.done if await _lacks(app, each.id, states[each.id])]
    if not arguments.json:
        await _print_report(app, tally, states, lacking, waited=arguments.wait)
    return 1 if tally.unread or tally.refused or (arguments.wait and lacking) else 0


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


async def _print_report(
    app: App,
    tally: Tally,
    states: Mapping[UUID, DocumentState],
    lacking: Sequence[Document],
    *,
    waited: bool,
) -> None:
    rows = [
        (states[each.id].state, "new" if each.new else "known", each.id, each.name)
        for each in tally.done[:SHOWN]
    ]
    if rows:
        print_table(("state", "", "document", "name"), rows)
    if len(tally.done) > SHOWN:
        print_line(f"… and {len(tally.done) - SHOWN:,} more")
    _print_counts(tally)
    if waited:
        await _print_lacking(app, lacking)
    elif unprotected := sum(each.state == State.NONE for each in states.values()):
        print_line(f"{unprotected:,} wait for a worker: run `foja worker`, or repeat the command with --wait")
    print_notes(each.note for each in states.values())


def _print_counts(tally: Tally) -> None:
    new = sum(each.new for each in tally.done)
    refused = f", {tally.refused:,} refused" if tally.refused else ""
    print_line(f"{new:,} added, {len(tally.done) - new:,} known, {tally.unread:,} could not be read{refused}")
    kinds = Counter(kind for _, kind in tally.found.left_out)
    if kinds:
        counts = [f"{count:,} {kind}{'s' if count > 1 else ''}" for kind, count in sorted(kinds.items())]
        print_line(f"skipped: {', '.join(counts)}")


async def _print_lacking(app: App, lacking: Sequence[Document]) -> None:
    """Print which documents lack evidence, and why."""
    if not lacking:
        return
    lack = "lack" if len(lacking) > 1 else "lacks"
    print_line(f"{len(lacking):,} {lack} requested evidence or the artifact")
    if paused := await app.jobs.paused():
        print_line(f"paused: {', '.join(paused)}; `foja jobs resume TYPE` resumes them")
    for each in lacking[:3]:
        print_line(f"{each.name}: {await app.documents.explain(each.id)}")


def print_notes(notes: Iterable[str | None]) -> None:
    """Print each note once."""
    for note in dict.fromkeys(notes):
        if note:
            print_line(note)
