"""`foja protect`: files and folders, many at a time; done again, it goes on where it stopped."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from foja.app import App
from foja.blobs.copying import copy
from foja.cli.installation import settings_of, started
from foja.cli.output import Progress, complain, progress, record, say, table
from foja.cli.running import working
from foja.documents.adding import Document
from foja.documents.work import Stands
from foja.errors import Refused

AT_ONCE = 16
SHOWN = 20
POLL = 0.1
Thing = TypeVar("Thing")


@dataclass(slots=True)
class Tally:
    """What became of the files."""

    total: int
    done: list[Document]
    failed: int = 0


async def protect(arguments: Namespace) -> int:
    """Add and request; 1 if a file could not be read or its evidence is not there after waiting."""
    files = list(named(arguments.files))
    async with started(settings_of(arguments)) as app:
        async with _worked_on(app, wait=arguments.wait) as work, _bar("protecting") as bar:
            tally = await _add_all(app, files, arguments, bar)
            if work:
                await unless_ended(work, _settled(app, tally, bar))
        return await _report(app, tally, arguments)


def named(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield every file with the name it gets: in a folder, its way from there."""
    for path in paths:
        if path.is_dir():
            root = path.resolve()
            inside = sorted(each for each in root.rglob("*") if each.is_file() and not each.is_symlink())
            yield from ((each, each.relative_to(root.parent).as_posix()) for each in inside)
        else:
            yield path, path.name


async def _add_all(
    app: App, files: Sequence[tuple[Path, str]], arguments: Namespace, bar: Progress | None
) -> Tally:
    tally = Tally(len(files), [])
    evidence = app.documents.wanted(word.strip() for word in arguments.evidence.split(","))

    async def add(file: tuple[Path, str]) -> None:
        path, name = file
        try:
            tally.done.append(await _add(app, path, name, evidence, hash_only=arguments.hash_only))
        except (Refused, OSError) as error:
            tally.failed += 1
            complain(f"{path}: {error.strerror if isinstance(error, OSError) else error}")
        if bar and not arguments.wait:
            bar(len(tally.done), tally.total)

    await at_once(files, add)
    return tally


async def at_once(things: Sequence[Thing], do: Callable[[Thing], Awaitable[None]]) -> None:
    """Do something with each of these, a few at a time; the first error ends it."""
    waiting = iter(things)

    async def one_by_one() -> None:
        for thing in waiting:
            await do(thing)

    doing = [asyncio.create_task(one_by_one()) for _ in range(min(AT_ONCE, len(things)))]
    try:
        await asyncio.gather(*doing)
    finally:
        for task in doing:
            task.cancel()
        await asyncio.gather(*doing, return_exceptions=True)


async def _add(app: App, path: Path, name: str, evidence: Sequence[str], *, hash_only: bool) -> Document:
    if hash_only:
        sha256, size = await asyncio.to_thread(digest, path)
        document = await app.documents.add_digest(sha256, name=name, size=size)
    else:
        document = await app.documents.add(path, name=name)
    await app.documents.protect(document.id, evidence, witness_hash=document.sha256)
    return document


def digest(path: Path) -> tuple[str, int]:
    """Return digest and size of a file of any size."""
    with path.open("rb") as file:
        return copy(file)


async def _settled(app: App, tally: Tally, bar: Progress | None) -> None:
    """Return when nothing is being done about these documents any more."""
    waiting = {document.id for document in tally.done}
    while waiting := await app.documents.at_work(list(waiting)):
        if bar:
            bar(len(tally.done) - len(waiting), tally.total)
        await asyncio.sleep(POLL)


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
    bare = [each for each in tally.done if states[each.id].state == "none"]
    if not arguments.json:
        await _tell(app, tally, states, bare, waited=arguments.wait)
    return 1 if tally.failed or (arguments.wait and bare) else 0


async def _tell(
    app: App,
    tally: Tally,
    states: Mapping[UUID, Stands],
    bare: Sequence[Document],
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
    new = sum(each.new for each in tally.done)
    say(f"{new:,} added, {len(tally.done) - new:,} known, {tally.failed:,} could not be read")
    if bare and not waited:
        say(f"{len(bare):,} wait for a worker: run `foja worker`, or this again with --wait")
    if bare and waited and (paused := await app.jobs.paused()):
        say(f"paused: {', '.join(paused)}; `foja jobs resume` lets them go on")
    for each in bare[:3] if waited else ():
        say(f"{each.name}: {await app.documents.explain(each.id)}")
    remember(each.note for each in states.values())


def remember(notes: Iterable[str | None]) -> None:
    """Say once what reports about these documents must add."""
    for note in dict.fromkeys(notes):
        if note:
            say(note)


@asynccontextmanager
async def _bar(label: str) -> AsyncIterator[Progress | None]:
    with progress(label) as bar:
        yield bar
