"""`foja protect`: files and folders, many at a time; done again, it goes on where it stopped."""

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
from foja.cli.installation import settings_of, started
from foja.cli.output import Progress, complain, progress, record, say, table
from foja.cli.services import working
from foja.documents.intake import Document
from foja.documents.lists import DocumentState
from foja.documents.model.events import Evidence
from foja.documents.model.projection import EvidenceStatus, Pipeline, State
from foja.errors import Refused, SetupFailed

MAX_PARALLEL = 16
SHOWN = 20
POLL_SECONDS = 0.1
SOON = 5.0  # what comes so soon is waited for
Thing = TypeVar("Thing")


@dataclass(slots=True)
class Tally:
    """What became of the files."""

    found: Found
    done: list[Document] = field(default_factory=list)
    unread: int = 0
    refused: int = 0

    def fail(self, path: Path, error: Refused | OSError, *, json: bool) -> None:
        """Count and tell what did not become a document."""
        detail = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        self.unread += isinstance(error, OSError)
        self.refused += isinstance(error, Refused)
        complain(f"{path}: {detail}")
        if json:
            record({"path": str(path), "error": type(error).__name__, "detail": detail})


async def protect(arguments: Namespace) -> int:
    """Add and request; 1 if anything could not be read, was refused or, waited for, is not there."""
    found = walk(arguments.files)
    if arguments.predecessor and (len(arguments.files) > 1 or arguments.files[0].is_dir()):
        raise SetupFailed("a predecessor is that of one file; protect the others without it")
    async with started(settings_of(arguments)) as app:
        async with _worked_on(app, wait=arguments.wait) as work, _bar("protecting") as bar:
            tally = await _add_all(app, found, arguments, bar)
            if work:
                await unless_ended(work, _settled(app, tally, bar))
        return await _report(app, tally, arguments)


async def _add_all(app: App, found: Found, arguments: Namespace, bar: Progress | None) -> Tally:
    tally = Tally(found)
    for folder, error in found.unread:
        tally.fail(folder, error, json=arguments.json)
    evidence = app.documents.wanted(word.strip() for word in arguments.evidence.split(","))

    async def add(file: tuple[Path, str]) -> None:
        path, name = file
        try:
            tally.done.append(await _add(app, path, name, evidence, arguments))
        except (Refused, OSError) as error:
            tally.fail(path, error, json=arguments.json)
        if bar and not arguments.wait:
            bar(len(tally.done), len(found.files))

    await at_once(found.files, add)
    return tally


async def at_once(things: Sequence[Thing], do: Callable[[Thing], Awaitable[None]]) -> None:
    """Do something with each of these, a few at a time; the first error ends it."""
    waiting = iter(things)

    async def one_by_one() -> None:
        for thing in waiting:
            await do(thing)

    doing = [asyncio.create_task(one_by_one()) for _ in range(min(MAX_PARALLEL, len(things)))]
    try:
        await asyncio.gather(*doing)
    finally:
        for task in doing:
            task.cancel()
        await asyncio.gather(*doing, return_exceptions=True)


async def _add(app: App, path: Path, name: str, evidence: Sequence[str], arguments: Namespace) -> Document:
    before: UUID | None = arguments.predecessor
    if arguments.hash_only:
        sha256, size = await asyncio.to_thread(digest, path)
        document = await app.documents.add_digest(sha256, name=name, size=size, predecessor=before)
    else:
        document = await app.documents.add(path, name=name, predecessor=before)
    await app.documents.protect(document.id, evidence, witness_hash=document.sha256)
    return document


def digest(path: Path) -> tuple[str, int]:
    """Return digest and size of a file of any size."""
    with path.open("rb") as file:
        return copy(file)


async def _settled(app: App, tally: Tally, bar: Progress | None) -> None:
    """Return when nothing is being done about these documents any more."""
    waiting = {document.id for document in tally.done}
    soon = SOON + app.settings.checkpoint_seconds  # an artifact waits for the next checkpoint
    while waiting := await app.documents.at_work(list(waiting), within=soon):
        if bar:
            bar(len(tally.done) - len(waiting), len(tally.found.files))
        await asyncio.sleep(POLL_SECONDS)


async def unless_ended(work: asyncio.Task[None], waiting: Coroutine[None, None, None]) -> None:
    """Wait, but not for somebody who is dead: raise what the work ended with."""
    waited = asyncio.create_task(waiting)
    try:
        await asyncio.wait({work, waited}, return_when=asyncio.FIRST_COMPLETED)
        await (waited if waited.done() else work)
    finally:
        waited.cancel()
        await asyncio.gather(waited, return_exceptions=True)


@asynccontextmanager
async def _worked_on(app: App, *, wait: bool) -> AsyncIterator[asyncio.Task[None] | None]:
    if not wait:
        yield None
        return
    async with working(app) as work:
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
        record({**known, **states[document.id]._asdict()})
    for path, kind in tally.found.left_out if arguments.json else ():
        record({"path": str(path), "left_out": kind})
    lacking = [each for each in tally.done if await _lacks(app, each.id, states[each.id])]
    if not arguments.json:
        await _tell(app, tally, states, lacking, waited=arguments.wait)
    return 1 if tally.unread or tally.refused or (arguments.wait and lacking) else 0


async def _lacks(app: App, document: UUID, stands: DocumentState) -> bool:
    """Is anything missing that was asked for, or the artifact that follows where there are artifacts?"""
    if stands.state == State.FINAL:
        return False
    if stands.pipeline == Pipeline.AWAITING_ARTIFACT:
        return Evidence.ARTIFACT in app.documents.abilities
    if stands.pipeline or stands.state == State.NONE:
        return True
    view = await app.documents.view(document)  # closed, or of an early stage
    required = [each for each in view.evidence if each.evidence in view.required_evidence]
    return any(each.status not in (EvidenceStatus.CONFIRMED, EvidenceStatus.SUPERSEDED) for each in required)


async def _tell(
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
        table(("state", "", "document", "name"), rows)
    if len(tally.done) > SHOWN:
        say(f"… and {len(tally.done) - SHOWN:,} more")
    _count(tally)
    if waited:
        await _regret(app, lacking)
    elif bare := sum(each.state == State.NONE for each in states.values()):
        say(f"{bare:,} wait for a worker: run `foja worker`, or this again with --wait")
    remember(each.note for each in states.values())


def _count(tally: Tally) -> None:
    new = sum(each.new for each in tally.done)
    refused = f", {tally.refused:,} refused" if tally.refused else ""
    say(f"{new:,} added, {len(tally.done) - new:,} known, {tally.unread:,} could not be read{refused}")
    kinds = Counter(kind for _, kind in tally.found.left_out)
    if kinds:
        counts = [f"{count:,} {kind}{'s' if count > 1 else ''}" for kind, count in sorted(kinds.items())]
        say(f"left out: {', '.join(counts)}")


async def _regret(app: App, lacking: Sequence[Document]) -> None:
    """Say what is not there although it was waited for, and why."""
    if not lacking:
        return
    many = len(lacking) > 1
    say(f"{len(lacking):,} {'lack' if many else 'lacks'} something that was asked for")
    if paused := await app.jobs.paused():
        say(f"paused: {', '.join(paused)}; `foja jobs resume` lets them go on")
    for each in lacking[:3]:
        say(f"{each.name}: {await app.documents.explain(each.id)}")


def remember(notes: Iterable[str | None]) -> None:
    """Say once what reports about these documents must add."""
    for note in dict.fromkeys(notes):
        if note:
            say(note)


@asynccontextmanager
async def _bar(label: str) -> AsyncIterator[Progress | None]:
    with progress(label) as bar:
        yield bar
