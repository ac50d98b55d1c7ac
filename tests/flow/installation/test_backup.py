"""`foja backup` and `foja restore`: from one server to another and back, and what is refused."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from foja.domains.backup.archive import ArchiveReader, ArchiveWriter
from foja.engine.embedded.postgres import stop
from tests.conftest import FAST
from tests.database.schema.test_schema import dump
from tests.flow.command import FOJA, Run, check_refused, well
from tests.postgres_server import running_postgres

OLDEST = Path("/usr/lib/postgresql/15/bin")
Rewrite = Callable[[str, bytes], bytes]
# What a start writes: which server it is, and what was seen of each part.
OF_THE_START = ("--exclude-table-data=foja.installation", "--exclude-table-data=foja.health")


@pytest.fixture
def new_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="foja-test-"))
    yield folder / "home"
    stop(folder / "home", "immediate")
    shutil.rmtree(folder)


def rewritten(source: Path, target: Path, change: Rewrite) -> Path:
    """Write the backup again with changed parts and true digests, as an intruder would."""
    with source.open("rb") as file, target.open("wb") as new, ArchiveWriter(new) as writer:
        for part in ArchiveReader(file).parts():
            writer.add(part.name, change(part.name, part.read()))
        writer.finish()
    return target


def seen(run: Run, conversation: UUID) -> list[object]:
    """What a user sees of an installation, without cursors: the epoch of a restored database is new."""
    events = [
        {**json.loads(line), "cursor": None}
        for line in run("events", conversation, "--json").out.splitlines()
    ]
    return [events, run("log", "--json").out, run("log", "key").out, run("status").out]


def test_from_your_own_server_to_the_embedded_one_and_back(
    run: Run,
    filled: UUID,
    database_url: str,
    empty_database_url: str,
    new_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The embedded cluster has none of the roles. Nothing but the epoch differs at the end.

    A file is found again by its id, which is derived with a key of the installation.
    """
    before, archive = seen(run, filled), tmp_path / "first.tar"
    protect = ("protect", tmp_path / "contract.txt", "--json")
    protected = well(run(*protect)).document
    cursor = json.loads(run("events", filled, "--json").lines[0])["cursor"]
    said = well(run("backup", "-o", archive, "--json")).document
    assert (said["objects"], said["missing"], said["other_tables"]) == (2, [], [])
    assert archive.stat().st_mode & 0o777 == 0o600
    check_refused(run("backup", "-o", archive), 2, "exists")
    original = dump(database_url, *OF_THE_START)

    monkeypatch.delenv("FOJA_DATABASE_URL")
    monkeypatch.setenv("FOJA_HOME", str(new_home))
    assert well(run("restore", archive, "--continue-log", "--json")).document["log_continued"] is True
    assert seen(run, filled) == before
    assert well(run("fsck", "--tiles")).out.startswith("clean")
    check_refused(run("events", filled, "--after", cursor), 1, "belongs to another history")
    check_refused(run("restore", archive), 2, f"the home {new_home} has installation, keys, store")

    second = tmp_path / "again"
    second.mkdir()
    well(run("backup", "-o", second))
    [again] = second.iterdir()
    monkeypatch.setenv("FOJA_DATABASE_URL", empty_database_url)
    monkeypatch.setenv("FOJA_HOME", str(tmp_path / "third"))
    well(run("restore", again, "--continue-log"))
    assert seen(run, filled) == before
    assert well(run("fsck", "--tiles")).out.startswith("clean")
    assert dump(empty_database_url, *OF_THE_START) == original
    assert well(run(*protect)).document == protected
    assert well(run("chat", "say", filled, "still here")).out == f"event 1 of {filled}\n"
    well(run("fsck", "--tiles"))


@pytest.mark.skipif(not OLDEST.exists(), reason="PostgreSQL 15 is not installed")
def test_the_oldest_postgres_takes_a_backup_of_the_newest_and_the_other_way_round(
    run: Run, filled: UUID, empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pg_restore 18 cannot restore to a server 15, and pg_dump 15 cannot dump a server 18."""
    before = seen(run, filled)
    well(run("backup", "-o", tmp_path / "newest.tar"))
    with running_postgres(OLDEST, FAST) as server:
        monkeypatch.setenv("FOJA_DATABASE_URL", server.url)
        monkeypatch.setenv("FOJA_HOME", str(tmp_path / "oldest"))
        well(run("restore", tmp_path / "newest.tar", "--continue-log"))
        assert seen(run, filled) == before
        well(run("fsck", "--tiles"))
        well(run("backup", "-o", tmp_path / "oldest.tar"))
    monkeypatch.setenv("FOJA_DATABASE_URL", empty_database_url)
    monkeypatch.setenv("FOJA_HOME", str(tmp_path / "third"))
    well(run("restore", tmp_path / "oldest.tar", "--continue-log"))
    assert seen(run, filled) == before
    well(run("fsck", "--tiles"))


def test_a_restored_log_begins_again_unless_it_is_told_to_continue(
    run: Run, filled: UUID, empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installation lived on after the backup: the same log must not grow twice."""
    well(run("backup", "-o", tmp_path / "b.tar"))
    old = json.loads(run("log", "--json").out)
    well(run("chat", "say", filled, "published after the backup"))
    monkeypatch.setenv("FOJA_DATABASE_URL", empty_database_url)
    well(run("restore", tmp_path / "b.tar", "--home", tmp_path / "new"))
    monkeypatch.setenv("FOJA_HOME", str(tmp_path / "new"))
    well(run("chat", "say", filled, "another history"))
    closed, opened = json.loads(run("log", "--json").out)
    assert closed["closed_size"] == old[0]["size"]
    assert opened["name"].startswith(f"{old[0]['name']}/2/{old[0]['size']}-")
    assert (opened["size"], opened["published"]) == (1, 1)
    well(run("fsck", "--tiles"))


def test_without_objects_the_store_lives_on_and_halts_a_log_that_is_older(
    run: Run,
    filled: UUID,
    empty_database_url: str,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = well(run("backup", "-o", tmp_path / "b.tar", "--without-objects")).out
    assert f"the store {(home / 'store').as_uri()} is not in it" in said
    well(run("chat", "say", filled, "published after the backup"))
    monkeypatch.setenv("FOJA_DATABASE_URL", empty_database_url)
    monkeypatch.setenv("FOJA_HOME", str(tmp_path / "new"))
    check_refused(run("restore", tmp_path / "b.tar"), 2, "this backup has no objects")
    assert not (tmp_path / "new" / "keys").exists()
    monkeypatch.setenv("FOJA_STORAGE_URL", (home / "store").as_uri())
    well(run("restore", tmp_path / "b.tar", "--continue-log"))
    ran = run("chat", "say", filled, "another history")
    assert "leaves were published, but only" in ran.err
    well(run("log", "restart", "--yes"))
    well(run("chat", "say", filled, "a third one"))
    well(run("fsck", "--tiles"))


@pytest.mark.usefixtures("filled")
def test_a_home_or_a_database_in_use_is_refused_and_both_are_named(
    run: Run,
    home: Path,
    tmp_path: Path,
    empty_database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    well(run("backup", "-o", tmp_path / "b.tar"))
    used = run("restore", tmp_path / "b.tar", "--home", tmp_path / "new")
    check_refused(used, 2, "has a schema foja")
    assert str(tmp_path / "new") in used.err
    monkeypatch.setenv("FOJA_DATABASE_URL", empty_database_url)
    used = run("restore", tmp_path / "b.tar")
    check_refused(used, 2, f"the home {home} has installation, keys, store")
    assert "test_" in used.err
    monkeypatch.setenv("FOJA_STORAGE_URL", (home / "store").as_uri())
    check_refused(run("restore", tmp_path / "b.tar", "--home", tmp_path / "new"), 2, "has files of")
    with psycopg.connect(empty_database_url) as conn:
        assert conn.execute("select to_regnamespace('foja')").fetchone() == (None,)


@pytest.mark.usefixtures("filled")
def test_a_damaged_backup_and_other_files_are_refused_before_anything_is_written(
    run: Run, tmp_path: Path
) -> None:
    archive, new = tmp_path / "b.tar", tmp_path / "new"
    well(run("backup", "-o", archive))
    whole = archive.read_bytes()
    assert well(run("restore", archive, "--check", "--json")).document["digest"]
    for at in range(0, len(whole), len(whole) // 20):
        archive.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        ran = run("restore", archive, "--home", new)
        assert (ran.code, ran.out) == (1, ""), at
        assert "the backup" in ran.err
    archive.write_bytes(whole[:-1024])
    check_refused(run("restore", archive, "--home", new), 1, "ends too early")
    check_refused(run("restore", tmp_path / "contract.txt", "--home", new), 1, "ends too early")
    check_refused(run("restore", tmp_path, "--home", new), 2, "is not a file")
    assert not new.exists()


@pytest.mark.usefixtures("filled")
def test_another_key_is_found_when_a_backup_is_written_and_when_it_is_restored(
    run: Run,
    home: Path,
    tmp_path: Path,
    empty_database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    archive = tmp_path / "b.tar"
    well(run("backup", "-o", archive))
    forged = rewritten(
        archive, tmp_path / "forged.tar", lambda name, data: bytes(32) if name == "keys/log.key" else data
    )
    key = home / "keys" / "log.key"
    key.write_bytes(bytes(32))
    check_refused(run("backup", "-o", tmp_path / "c.tar"), 2, "the log is signed by")
    key.unlink()
    check_refused(run("backup", "-o", tmp_path / "c.tar"), 2, "there is no key in")
    assert not (tmp_path / "c.tar").exists()
    monkeypatch.setenv("FOJA_DATABASE_URL", empty_database_url)
    monkeypatch.setenv("FOJA_HOME", str(tmp_path / "new"))
    check_refused(run("restore", forged), 2, "the log is signed by")
    check_refused(run("status"), 2, "did not end")
    with psycopg.connect(empty_database_url) as conn:
        assert conn.execute("select to_regnamespace('foja')").fetchone() == (None,)
    check_refused(run("restore", archive), 2, "a restore of another backup")


def test_rows_and_objects_of_an_intruder_are_found(
    run: Run, filled: UUID, tmp_path: Path, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digests that an intruder computed again protect nothing; names, keys and fsck do."""
    archive = tmp_path / "b.tar"
    well(run("backup", "-o", archive))
    monkeypatch.setenv("FOJA_DATABASE_URL", empty_database_url)
    other = rewritten(
        archive, tmp_path / "o.tar", lambda name, data: b"other" if name.startswith("objects/") else data
    )
    check_refused(run("restore", other, "--home", tmp_path / "a"), 1, "has other bytes than its name says")
    words = rewritten(
        archive,
        tmp_path / "w.tar",
        lambda name, data: data.replace(b"where is my parcel?", b"I never said it"),
    )
    monkeypatch.setenv("FOJA_HOME", str(tmp_path / "b"))
    well(run("restore", words))
    ran = run("fsck")
    assert ran.code == 1
    assert str(filled) in ran.out


@pytest.mark.usefixtures("filled")
def test_a_backup_that_lacks_objects_is_not_written_unless_it_says_so(
    run: Run,
    home: Path,
    tmp_path: Path,
    empty_database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = sorted((home / "store" / "objects").glob("*/*"))
    first.unlink()
    second.write_bytes(b"damaged")
    check_refused(run("backup", "-o", tmp_path / "b.tar"), 1, "--skip-missing")
    assert [path.name for path in tmp_path.iterdir() if "tar" in path.name or "partial" in path.name] == []
    ran = run("backup", "-o", tmp_path / "b.tar", "--skip-missing", "--json")
    assert ran.code == 1
    assert ran.document["missing"] == [f"objects/{path.parent.name}/0" for path in (first, second)]
    monkeypatch.setenv("FOJA_DATABASE_URL", empty_database_url)
    monkeypatch.setenv("FOJA_HOME", str(tmp_path / "new"))
    well(run("restore", tmp_path / "b.tar"))
    well(run("fsck", "--tiles"))
    assert run("orphans", "scan").code == 1


@pytest.mark.usefixtures("filled")
def test_a_backup_of_another_schema_is_refused(
    run: Run, tmp_path: Path, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    well(run("backup", "-o", tmp_path / "b.tar"))

    def change(name: str, data: bytes) -> bytes:
        if name != "backup.json":
            return data
        found = json.loads(data)
        found["schema_steps"][-1]["digest"] = "0" * 64
        return json.dumps(found).encode()

    other = rewritten(tmp_path / "b.tar", tmp_path / "o.tar", change)
    monkeypatch.setenv("FOJA_DATABASE_URL", empty_database_url)
    check_refused(run("restore", other, "--home", tmp_path / "new"), 2, "that this Foja does not know")


@pytest.mark.usefixtures("filled")
def test_standard_output_gets_the_archive_and_nothing_else() -> None:
    ran = subprocess.run([*FOJA, "backup", "-o", "-", "--json"], capture_output=True, check=True)
    reader = ArchiveReader(io.BytesIO(ran.stdout))
    assert "keys/log.key" in [part.name for part in reader.parts()]
    assert reader.digest in ran.stderr.decode()
