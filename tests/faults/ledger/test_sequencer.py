"""The sequencer with faults, rivals and restored databases at every step: checkpoints never fork."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Iterator
from itertools import combinations
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
import pytest
from psycopg import AsyncConnection, sql

import foja
from foja.app import App
from foja.engine.blobs.disk import Disk
from foja.engine.blobs.store import Store
from foja.engine.driver.database import Database
from foja.engine.embedded.postgres import PostgresServer
from foja.engine.ledger.event import Event, Reset, StreamItem
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.ledger.sequencer import Sequencer
from foja.errors import FojaError, LogHalted, Unavailable
from foja.pure.core import tiles
from foja.pure.core.merkle import check_consistency
from foja.pure.core.note import Checkpoint, open_note, parse_checkpoint
from tests.faults.load import sequence
from tests.faults.steps import Moment, SteppedDatabase, SteppedPlace, Steps
from tests.races.auditor import Books, audit, audit_idle
from tests.races.writers import SAY, TOOL, Plan, processes, result, streams, words, write
from tests.worker_task import working

MOMENTS = get_args(Moment)
GROWTHS = (3, 1, 250, 2, 7, 256, 5)  # so that tiles become full, also exactly


class Scene:
    """One log, its published files, and every checkpoint that was ever published."""

    def __init__(self, app: App, database: Database) -> None:
        self.app, self._database = app, database
        self.disk = Disk(app.settings.home / "store")
        self.seen: dict[int, list[Checkpoint]] = {}
        self._talk = UUID(int=7)

    @property
    def url(self) -> str:
        return self.app.settings.database_url

    def sequencer(self, steps: Steps | None = None) -> Sequencer:
        """Return a new sequencer, with or without a fault."""
        steps = steps or Steps()
        database = SteppedDatabase(self._database, steps)
        store = Store(SteppedPlace(self.disk, steps))
        return Sequencer(database, store, self.app.signer, Notifier(self.url, "foja_api"))

    async def grow(self, count: int) -> None:
        """Append `count` events."""
        talk = await self.app.conversations.open(self._talk)
        await talk.append_many([talk.draft(SAY, words(str(n))) for n in range(count)])

    async def finish(self) -> int:
        """Let a new sequencer do everything that is left. Return the published size."""
        sequencer = self.sequencer()
        await advance(sequencer)
        return self.look((await sequencer.current()).origin)

    def look(self, origin: int) -> int:
        """Note the published checkpoint and return its size."""
        try:
            note = (self.disk.root / f"log/{origin}/checkpoint").read_bytes()
        except FileNotFoundError:
            return 0
        checkpoint = parse_checkpoint(open_note(note, [self.app.signer.verifier()]))
        if checkpoint not in self.seen.setdefault(origin, []):
            self.seen[origin].append(checkpoint)
        return checkpoint.size

    def check(self) -> None:
        """Check that every checkpoint is consistent with every later one, by the published tiles."""
        for origin, notes in self.seen.items():
            for old, new in combinations(notes, 2):
                needed = {
                    tile: (self.disk.root / f"log/{origin}/{tile.path}").read_bytes()
                    for tile in tiles.consistency_tiles(old.size, new.size)
                }
                proof = tiles.prove_consistency(old.size, new.size, needed)
                check_consistency(old.size, old.root, new.size, new.root, proof)


async def advance(sequencer: Sequencer) -> None:
    """Seal, number and publish everything."""
    while await sequencer.sweep() + await sequencer.number():
        pass
    while await sequencer.publish() < (await sequencer.current()).size:
        pass


@contextlib.asynccontextmanager
async def staged(url: str, home: Path) -> AsyncIterator[Scene]:
    database = Database(url, "foja_sweeper", 4)
    async with foja.connect(database_url=url, home=home) as app:
        try:
            yield Scene(app, database)
        finally:
            await database.close()


@pytest.fixture
async def scene(database_url: str, tmp_path: Path) -> AsyncIterator[Scene]:
    async with staged(database_url, tmp_path) as scene:
        yield scene


async def fails(work: Awaitable[object]) -> bool:
    try:
        await work
    except Unavailable:
        return True
    return False


@pytest.mark.parametrize("moment", MOMENTS)
async def test_every_step_fails_once(scene: Scene, moment: Moment) -> None:
    """After each fault, a new sequencer finishes the work. Starts at the first publication."""
    at = 0
    names: set[str] = set()
    while True:
        await scene.grow(GROWTHS[at % len(GROWTHS)])
        steps = Steps(at, moment)
        failed = await fails(advance(scene.sequencer(steps)))
        names.update(name.partition(" ")[0] for name in steps.names)
        await scene.finish()
        audit_idle(scene.url)
        assert failed == (at < len(steps.names))
        if not failed:
            break
        at += 1
    assert names >= {"number_pending", "read", "write", "replace", "record_checkpoint", "mark_published"}
    scene.check()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("at", range(12))
async def test_every_step_of_the_first_publication_fails_once(scene: Scene, at: int, moment: Moment) -> None:
    await scene.grow(2)
    steps = Steps(at, moment)
    failed = await fails(advance(scene.sequencer(steps)))
    assert failed == (at < len(steps.names))
    assert await scene.finish() == 2
    await scene.grow(2)
    assert await scene.finish() == 4
    audit_idle(scene.url)
    scene.check()


async def test_another_sequencer_runs_before_any_step(scene: Scene) -> None:
    """Everything that a sequencer has read may be outdated when it acts on it."""

    async def turn() -> None:
        await scene.grow(3)
        await scene.finish()

    at = 0
    while True:
        await scene.grow(GROWTHS[at % len(GROWTHS)])
        steps = Steps(at, turn=turn)
        await advance(scene.sequencer(steps))
        scene.look(1)
        assert await scene.finish() == len(audit_idle(scene.url).order())
        if at >= len(steps.names):
            break
        at += 1
    scene.check()


@pytest.mark.parametrize("at", range(12))
async def test_another_sequencer_is_first_to_publish(scene: Scene, at: int) -> None:
    """The same, for a log without a published checkpoint."""

    async def turn() -> None:
        await scene.grow(3)
        await scene.finish()

    await scene.grow(2)
    await advance(scene.sequencer(Steps(at, turn=turn)))
    scene.look(1)
    assert await scene.finish() == len(audit_idle(scene.url).order())
    scene.check()


async def test_sequencers_in_other_processes_under_load(database_url: str, tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    async with staged(database_url, tmp_path) as scene:
        with processes(3) as pool:
            busy = [loop.run_in_executor(pool, sequence, database_url, tmp_path) for _ in range(2)]
            while len(list(tmp_path.glob("sequencing-*"))) < len(busy):
                await asyncio.sleep(0.01)
            plan = Plan(database_url, tmp_path, streams(5), 8, 100, 1)
            written = loop.run_in_executor(pool, write, plan)
            while not written.done():
                await asyncio.gather(advance(scene.sequencer()), advance(scene.sequencer()))
                scene.look(1)
            (tmp_path / "enough").touch()
            counts = await asyncio.gather(*busy)
        await scene.finish()
        assert all(counts)
        books = audit_idle(database_url)
        assert books.logs[0].halted is None
        assert scene.seen[1][-1].size == books.logs[0].size == 800
        scene.check()


def database_of(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


class Backup:
    """Copies of a database, to be restored after more was written."""

    def __init__(self, postgres: PostgresServer) -> None:
        self._postgres = postgres
        self._names: list[str] = []

    def copy(self, url: str) -> str:
        """Copy a database without connections. Return the URL of the copy."""
        source = urlsplit(url).path[1:]
        self._names.append(f"{source}_{len(self._names)}")
        self._run("create database {} template {}", self._names[-1], source)
        return database_of(url, self._names[-1])

    def drop(self) -> None:
        for name in self._names:
            self._run("drop database {} with (force)", name)

    def _run(self, command: str, *names: str) -> None:
        with psycopg.connect(self._postgres.url, autocommit=True) as conn:
            conn.execute(sql.SQL(command).format(*map(sql.Identifier, names)))


@pytest.fixture
def backup(postgres: PostgresServer) -> Iterator[Backup]:
    backup = Backup(postgres)
    yield backup
    backup.drop()


async def write_and_publish(url: str, home: Path, count: int) -> None:
    async with staged(url, home) as scene:
        await scene.grow(count)
        await scene.finish()


def published(home: Path, origin: int = 1) -> bytes:
    return (home / f"store/log/{origin}/checkpoint").read_bytes()


@pytest.fixture
async def restored(database_url: str, tmp_path: Path, backup: Backup) -> str:
    """A database as it was when five events were published; ten are published now."""
    await write_and_publish(database_url, tmp_path, 5)
    old = backup.copy(database_url)
    await write_and_publish(database_url, tmp_path, 5)
    return old


async def seal_a_slot(app: App) -> None:
    """Write an event that only the sweeper can seal, and seal it."""
    talk = await app.conversations.open()
    slots = await talk.reserve(1)
    await slots.fill(0, TOOL, result("t"))
    await app.work(until_idle=True)
    assert audit(app.settings.database_url).streams[talk.id].sealed == 1


async def check_halted(scene: Scene, leaves: int) -> None:
    """Check that nothing is numbered or signed, while appending and sealing continue."""
    before = published(scene.app.settings.home)
    await scene.grow(4)
    await seal_a_slot(scene.app)
    for refused in (scene.sequencer().publish, scene.sequencer().check):
        with pytest.raises(LogHalted, match="log restart"):
            await refused()
    assert await scene.sequencer().number() == 0
    books = audit(scene.url)
    assert (books.logs[0].size, bool(books.logs[0].halted)) == (leaves, True)
    assert published(scene.app.settings.home) == before


async def check_restarted(scene: Scene, proven: Checkpoint) -> Books:
    """Check that the new log names the old head and contains the leaves that the old one does not prove."""
    before, epoch = published(scene.app.settings.home), audit(scene.url).epoch
    opened = await scene.sequencer().restart()
    assert opened.origin == 2
    assert f"{proven.size}-{proven.root.hex()}" in opened.name
    await scene.finish()
    books = audit_idle(scene.url)
    assert books.epoch != epoch
    assert [log.closed for log in books.logs] == [proven.size, None]
    assert scene.seen[2][-1].origin == opened.name
    assert scene.seen[2][-1].size == len(books.order()) - proven.size
    assert published(scene.app.settings.home) == before
    return books


async def test_a_restored_database_halts_the_log(restored: str, tmp_path: Path) -> None:
    async with staged(restored, tmp_path) as scene:
        await scene.app.work(until_idle=True)
        await check_halted(scene, leaves=5)
        await check_restarted(scene, checkpoint_of(scene, 5))


async def test_a_restored_database_that_has_more_leaves_than_published_halts(
    restored: str, tmp_path: Path
) -> None:
    async with staged(restored, tmp_path) as scene:
        await scene.grow(20)
        assert await scene.sequencer().number() == 20
        await scene.app.work(until_idle=True)
        await check_halted(scene, leaves=25)
        books = await check_restarted(scene, checkpoint_of(scene, 5))
        assert len(books.logs[1].leaves) == 20 + 4 + 1


async def test_a_halted_log_is_halted_for_all_processes(restored: str, tmp_path: Path) -> None:
    async with staged(restored, tmp_path) as scene, working(scene.app):
        async with asyncio.timeout(60):
            while not audit(scene.url).logs[0].halted:
                await asyncio.sleep(0.05)
        await check_halted(scene, leaves=5)
        await scene.sequencer().restart()
        async with asyncio.timeout(60):
            while not (scene.disk.root / "log/2/checkpoint").exists():
                await asyncio.sleep(0.05)


def checkpoint_of(scene: Scene, size: int) -> Checkpoint:
    """Return the signed checkpoint of the first log at a size."""
    with psycopg.connect(scene.url) as conn:
        rows = conn.execute("select note from foja.checkpoint where origin = 1 and size = %s", (size,))
        (note,) = rows.fetchall()[0]
    return parse_checkpoint(open_note(note, [scene.app.signer.verifier()]))


async def test_followers_of_a_restarted_log_are_reset(restored: str, tmp_path: Path) -> None:
    async with staged(restored, tmp_path) as scene:
        (last,) = (await scene.app.ledger.log.events(None, 100))[-1:]
        talk = await scene.app.conversations.open(last.entity_id)
        cursor = (await talk.events(limit=3))[-1].cursor
        live, of_stream = scene.app.ledger.log.follow(last.cursor), talk.follow(after=cursor)
        waiting = asyncio.ensure_future(anext(live))
        assert isinstance(await anext(of_stream), Event)
        await scene.app.work(until_idle=True)
        await scene.sequencer().restart()
        await scene.finish()
        assert isinstance(await asyncio.wait_for(waiting, 60), Reset)
        everything = len(audit_idle(restored).order())
        assert [await next_event(live) for _ in range(everything)] == [
            (event.entity_id, event.seq) for event in await scene.app.ledger.log.events(None, 100)
        ]
        assert isinstance(await until_reset(of_stream), Reset)
        for resumed in (scene.app.ledger.log.follow(last.cursor), talk.follow(after=cursor)):
            assert isinstance(await anext(resumed), Reset)
            assert isinstance(await anext(resumed), Event)


async def next_event(source: AsyncIterator[StreamItem]) -> tuple[UUID, int]:
    event = await asyncio.wait_for(anext(source), 60)
    assert isinstance(event, Event)
    return event.entity_id, event.seq


async def until_reset(source: AsyncIterator[StreamItem]) -> Reset:
    async with asyncio.timeout(60):
        async for event in source:
            if isinstance(event, Reset):
                return event
    raise AssertionError


@pytest.mark.parametrize("moment", MOMENTS)
async def test_every_step_of_a_restart_fails_once(scene: Scene, moment: Moment) -> None:
    at = 0
    while True:
        await scene.grow(3)
        await scene.finish()
        await scene.grow(2)
        before = await scene.sequencer().current()
        steps = Steps(at, moment)
        failed = await fails(scene.sequencer(steps).restart())
        if (await scene.sequencer().current()).origin == before.origin:
            await scene.sequencer().restart()
        await scene.finish()
        audit_idle(scene.url)
        assert failed == (at < len(steps.names))
        if not failed:
            break
        at += 1
    scene.check()


async def test_a_restart_names_the_published_checkpoint(scene: Scene) -> None:
    """The last checkpoint was published but not marked as such in the database."""
    await scene.grow(5)
    await scene.finish()
    await scene.grow(5)
    steps = Steps()
    await advance(scene.sequencer(steps))
    last = len(steps.names) - 1 - steps.names[::-1].index("mark_published")
    await scene.grow(5)
    assert await fails(advance(scene.sequencer(Steps(last, "and not saved"))))
    scene.look(1)
    seen = scene.seen[1][-1]
    assert seen.size == 15
    opened = await scene.sequencer().restart()
    assert f"{seen.size}-{seen.root.hex()}" in opened.name
    assert audit(scene.url).logs[0].closed == seen.size


async def test_a_restart_keeps_the_order_of_a_stream_that_is_being_written(scene: Scene) -> None:
    """An append that is not committed yet comes after the leaves of its stream that return to the outbox."""
    await scene.grow(3)
    async with await AsyncConnection.connect(scene.url) as writer:
        await writer.execute(
            "select foja.append_event(%s, 'conversation', %s, %s)", (UUID(int=7), SAY, '{"content": "slow"}')
        )
        restarting = asyncio.create_task(scene.sequencer().restart())
        await asyncio.sleep(0.2)
        await writer.commit()
    await asyncio.wait_for(restarting, 60)
    await scene.finish()
    audit_idle(scene.url)


async def test_nothing_is_published_beyond_the_size_of_a_closed_log(scene: Scene) -> None:
    """During a restart another sequencer may still publish, but only leaves that the log keeps."""

    async def turn() -> None:
        await scene.sequencer().restart()

    at = 0
    while True:
        await scene.grow(3)
        origin = (await scene.sequencer().current()).origin
        steps = Steps(at, turn=turn)
        with contextlib.suppress(FojaError):
            await advance(scene.sequencer(steps))
        closed = audit(scene.url).logs[origin - 1].closed
        assert closed is None or scene.look(origin) <= closed, steps.names[at]
        await scene.finish()
        if at >= len(steps.names):
            break
        at += 1
    scene.check()
