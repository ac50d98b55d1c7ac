"""A backup while others write, on a full disk and beside a purge; a restore that is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import foja
from foja.app import App
from foja.domains.backup.reader import BackupReader, check_backup, check_home
from foja.domains.backup.tables import reading
from foja.domains.backup.writer import BackupWriter
from foja.domains.registration import prepare
from foja.engine.blobs.store import open_store
from foja.engine.embedded.postgres import stop
from foja.engine.observe.fsck import Outside, fsck
from foja.engine.settings import Settings
from foja.errors import Busy, SetupFailed
from foja.interfaces.cli.services import in_background
from tests.flow.images.small_disk import small_disk

KILLED = """
import os, signal, sys
from foja.domains.backup import reader
from foja.interfaces.cli import main

def die(*_arguments):
    os.kill(os.getpid(), signal.SIGKILL)

owner, name = sys.argv.pop(1).split(".")
setattr(getattr(reader, owner), name, die)
sys.exit(main())
"""
# Dies in the middle of the rows of a table, some of which the server has.
KILLED_LOADING = """
import os, signal, sys
from foja.domains.backup import tables
from foja.interfaces.cli import main

class Dying:
    def __init__(self, part):
        self.name, self._part, self._reads = part.name, part, 0

    def read(self, size):
        self._reads += 1
        if self._reads > 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._part.read(size // 16)

copy_in = tables.Transfer.copy_in
tables.Transfer.copy_in = lambda self, part: copy_in(self, Dying(part) if "event/" in part.name else part)
sys.exit(main())
"""
FOJA = "import sys; from foja.interfaces.cli import main; sys.exit(main())"
# Runs several commands, one after the other, and prints a line for each: its exit code and what it said.
EACH = """
import contextlib, io, json, sys
from foja.interfaces.cli import main

verbs, words = sys.argv[1].split(), sys.argv[2:]
for verb in verbs:
    said, code = io.StringIO(), 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = main([verb, *words])
        except SystemExit as end:
            code = end.code
    print(json.dumps([verb, code, said.getvalue()]))
"""
REFUSED = ("up", "web", "worker", "migrate", "audit", "doctor")


async def run(program: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, words)]
    return await asyncio.to_thread(
        lambda: subprocess.run(command, capture_output=True, text=True, check=False)
    )


async def write_backup(app: App, target: Path) -> None:
    with target.open("wb") as file:
        writer = BackupWriter("test", app.settings, app.store, target.parent)
        await writer.write(app.settings.database_url, file)


async def restore(source: Path, url: str, home: Path) -> Settings:
    settings, size = Settings(home=home, database_url=url), source.stat().st_size
    with source.open("rb") as file:
        checked = check_backup(file, size)
        check_home(settings, checked)
        file.seek(0)
        reader = BackupReader(settings, open_store(settings.store_url), checked)
        await reader.restore(url, file, size)
    await prepare(url)
    reader.finish()
    return settings


async def test_a_backup_while_others_write_publish_and_store_is_one_moment(
    open_app: Callable[..., App], empty_database_url: str, tmp_path: Path
) -> None:
    async with open_app(checkpoint_seconds=0.05) as app:
        talks = [await app.conversations.open() for _ in range(4)]
        written = asyncio.Event()

        async def write(number: int) -> None:
            for at in range(10_000):
                await talks[number].append("user_message_sent", {"content": f"{number}/{at}"})
                document = await app.documents.add(f"{number}/{at}".encode(), name="a")
                await app.documents.protect(document.id, ["tsa"])
                if at == 3:
                    written.set()

        async def write_all() -> None:
            await asyncio.gather(*map(write, range(4)))

        async with in_background(app.work()), in_background(write_all()):
            await written.wait()
            await write_backup(app, tmp_path / "b.tar")
        last = max([len(await talk.events(limit=100_000)) for talk in talks])
    settings = await restore(tmp_path / "b.tar", empty_database_url, tmp_path / "new")
    async with foja.connect(home=settings.home, database_url=empty_database_url) as restored:
        outside = Outside(restored.store, [restored.signer.verifier()])
        report = await fsck(empty_database_url, outside, tiles=True)
        assert report.clean, report.first
        assert report.counts["events"] > 0
        copied = [await (await restored.conversations.open(talk.id)).events(limit=100_000) for talk in talks]
        assert 0 < max(map(len, copied)) <= last
        assert all([event.seq for event in events] == [*range(len(events))] for events in copied)
        assert not (await restored.orphans.scanner.scan()).missing
        await restored.sequencer.check()


async def test_no_object_is_purged_while_a_backup_reads(app: App) -> None:
    stored = await app.objects.put(b"nothing refers to it")
    async with reading(app.settings.database_url):
        with pytest.raises(Busy, match="a backup is being written"):
            await app.orphans.purger.purge_object(stored.sha256, reason="a test")
        result = await app.orphans.purger.purge()
        assert (result.outcome, result.deleted) == ("aborted", 0)
        assert await app.store.get(stored.sha256)
    assert await app.orphans.purger.purge_object(stored.sha256, reason="a test")


@pytest.mark.parametrize("step", ["BackupReader._flush", "BackupReader._check_whole", "BackupReader.finish"])
async def test_a_restore_that_was_killed_is_not_taken_for_whole_and_can_be_repeated(
    step: str, app: App, empty_database_url: str, tmp_path: Path
) -> None:
    """Before the files, before the commit, and after it."""
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "hello"})
    await app.documents.add(b"a contract", name="contract.txt")
    await app.work(until_idle=True)
    await write_backup(app, tmp_path / "b.tar")
    home = tmp_path / "new"
    words = ["restore", tmp_path / "b.tar", "--home", home, "--database-url", empty_database_url]
    killed = await run(KILLED, step, *words)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with pytest.raises(SetupFailed, match="did not end"):
        async with foja.connect(home=home, database_url=empty_database_url):
            pass
    with psycopg.connect(empty_database_url) as conn:
        [(loaded,)] = conn.execute("select to_regclass('foja.event') is not null")
    assert loaded is (step == "BackupReader.finish")
    again = await run(FOJA, *words)
    assert again.returncode == 0, again.stderr
    async with foja.connect(home=home, database_url=empty_database_url) as restored:
        assert len(await (await restored.conversations.open(talk.id)).events()) == 1
        outside = Outside(restored.store, [restored.signer.verifier()])
        assert (await fsck(empty_database_url, outside, tiles=True)).clean


@pytest.mark.parametrize("embedded", [False, True], ids=["own server", "embedded server"])
async def test_a_restore_that_was_killed_while_rows_were_loaded_is_named_and_repeated(
    app: App, empty_database_url: str, tmp_path: Path, *, embedded: bool
) -> None:
    talk = await app.conversations.open()
    for number in range(40):
        await talk.append("user_message_sent", {"content": f"{number} " + os.urandom(50_000).hex()})
    await app.work(until_idle=True)
    await write_backup(app, tmp_path / "b.tar")
    home = tmp_path / "new"
    where = ["--home", home] if embedded else ["--home", home, "--database-url", empty_database_url]
    try:
        killed = await run(KILLED_LOADING, "restore", tmp_path / "b.tar", *where)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        refused = await run(EACH, " ".join(REFUSED), *where)
        answers = [json.loads(line) for line in refused.stdout.splitlines()]
        assert [verb for verb, _, _ in answers] == [*REFUSED], refused.stderr
        for verb, code, said in answers:
            assert code in (1, 2), verb
            assert "did not end" in said, (verb, said)
            assert "Run the same `foja restore` again" in said, verb
        again = await run(FOJA, "restore", tmp_path / "b.tar", *where)
        assert again.returncode == 0, again.stderr
        listed = await run(FOJA, "events", talk.id, "--json", *where)
        assert len(listed.stdout.splitlines()) == 40, listed.stderr
        checked = await run(FOJA, "fsck", "--tiles", *where)
        assert checked.returncode == 0, checked.stdout
    finally:
        if embedded:
            await asyncio.to_thread(stop, home)


async def test_a_full_disk_leaves_no_backup(app: App, tmp_path: Path) -> None:
    await app.documents.add(b"x" * 4_000_000, name="large")
    folder = tmp_path / "small"
    folder.mkdir()
    with small_disk(folder, "2m"):
        words = [
            "backup",
            "-o",
            folder,
            "--home",
            app.settings.home,
            "--database-url",
            app.settings.database_url,
        ]
        ran = await run(FOJA, *words)
        assert ran.returncode == 2
        assert "no space is left" in ran.stderr
        assert "Traceback" not in ran.stderr
        assert list(folder.iterdir()) == []


async def test_a_full_disk_ends_a_restore_that_can_be_repeated(
    app: App, empty_database_url: str, tmp_path: Path
) -> None:
    await app.documents.add(b"x" * 4_000_000, name="large")
    await write_backup(app, tmp_path / "b.tar")
    folder = tmp_path / "small"
    folder.mkdir()
    words = ["restore", tmp_path / "b.tar", "--home", folder, "--database-url", empty_database_url]
    with small_disk(folder, "2m"):
        ran = await run(FOJA, *words)
        assert (ran.returncode, "No space left" in ran.stderr) == (2, True), ran.stderr
        assert "Traceback" not in ran.stderr
        subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True)
        again = await run(FOJA, *words)
        assert again.returncode == 0, again.stderr
