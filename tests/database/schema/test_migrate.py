"""The migrations runner, with migrations written for each test."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest

from foja.engine.sql.migrate import Moved, migrate, status
from foja.errors import MigrationFailed

FIRST = ("create table public.one (id int); insert into public.one values (1);", "")
SECOND = ("create table public.two (id int);", "")
BROKEN = ("create table public.three (id int); select 1 / 0;", "")


def write(folder: Path, *scripts: tuple[str, str]) -> Path:
    """Write migrations 1, 2, … with these up and down scripts."""
    for number, (up, down) in enumerate(scripts, start=1):
        step = folder / f"{number}_step"
        step.mkdir(exist_ok=True)
        (step / "up.sql").write_text(up)
        (step / "down.sql").write_text(down)
    return folder


def ask(url: str, query: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as conn:
        return conn.execute(query).fetchall()


def tables(url: str) -> list[str]:
    return [
        row[0] for row in ask(url, "select tablename from pg_tables where schemaname = 'public' order by 1")
    ]


async def test_every_pending_migration_is_applied_in_order(empty_database_url: str, tmp_path: Path) -> None:
    lines: list[str] = []
    moved = await migrate(empty_database_url, report=lines.append, folder=write(tmp_path, FIRST, SECOND))
    assert moved == Moved(0, 2)
    assert tables(empty_database_url) == ["one", "two"]
    assert [line.split(" in ")[0] for line in lines] == ["applied 1_step", "applied 2_step"]


async def test_a_second_run_does_nothing(empty_database_url: str, tmp_path: Path) -> None:
    folder = write(tmp_path, FIRST, SECOND)
    await migrate(empty_database_url, folder=folder)
    assert await migrate(empty_database_url, folder=folder) == Moved(2, 2)
    assert ask(empty_database_url, "select count(*) from public.one") == [(1,)]


async def test_a_later_run_applies_only_what_is_new(empty_database_url: str, tmp_path: Path) -> None:
    await migrate(empty_database_url, folder=write(tmp_path, FIRST))
    assert await migrate(empty_database_url, folder=write(tmp_path, FIRST, SECOND)) == Moved(1, 2)


async def test_a_failing_migration_changes_nothing_and_keeps_those_before(
    empty_database_url: str, tmp_path: Path
) -> None:
    with pytest.raises(MigrationFailed, match=r"2_step failed: division by zero"):
        await migrate(empty_database_url, folder=write(tmp_path, FIRST, BROKEN))
    assert tables(empty_database_url) == ["one"]
    assert ask(empty_database_url, "select number from foja.migration") == [(1,)]
    assert await migrate(empty_database_url, folder=write(tmp_path, FIRST, SECOND)) == Moved(1, 2)


async def test_down_reverts_in_reverse_order(empty_database_url: str, tmp_path: Path) -> None:
    lines: list[str] = []
    keep = "create table public.kept as table public.two;"
    folder = write(tmp_path, FIRST, SECOND, ("create view public.v as table public.two;", keep))
    await migrate(empty_database_url, folder=folder)
    assert await migrate(empty_database_url, to=1, report=lines.append, folder=folder) == Moved(3, 1)
    assert [line.split(" in ")[0] for line in lines] == ["reverted 3_step", "reverted 2_step"]
    assert tables(empty_database_url) == ["kept", "one"]
    assert await migrate(empty_database_url, folder=folder) == Moved(1, 3)


async def test_a_failing_down_script_leaves_the_migration_applied(
    empty_database_url: str, tmp_path: Path
) -> None:
    folder = write(tmp_path, (FIRST[0], "drop table public.absent;"))
    await migrate(empty_database_url, folder=folder)
    with pytest.raises(MigrationFailed, match="absent"):
        await migrate(empty_database_url, to=0, folder=folder)
    assert tables(empty_database_url) == ["one"]
    assert ask(empty_database_url, "select number from foja.migration") == [(1,)]


async def test_concurrent_runs_apply_each_migration_once(empty_database_url: str, tmp_path: Path) -> None:
    folder = write(tmp_path, ("select pg_sleep(0.3);" + FIRST[0], FIRST[1]), SECOND)
    lines: list[str] = []
    runs = [migrate(empty_database_url, report=lines.append, folder=folder) for _ in range(4)]
    moved = await asyncio.gather(*runs)
    assert sorted(run.before for run in moved) == [0, 2, 2, 2]
    assert sum(line.startswith("applied") for line in lines) == 2
    assert sum("waiting" in line for line in lines) == 3


async def test_a_changed_migration_is_refused_by_name(empty_database_url: str, tmp_path: Path) -> None:
    await migrate(empty_database_url, folder=write(tmp_path, FIRST))
    folder = write(tmp_path, ("create table public.other (id int);", ""), SECOND)
    with pytest.raises(MigrationFailed, match="1_step was applied with another text"):
        await migrate(empty_database_url, folder=folder)
    assert tables(empty_database_url) == ["one"]


async def test_a_newer_database_is_refused(empty_database_url: str, tmp_path: Path) -> None:
    await migrate(empty_database_url, folder=write(tmp_path, FIRST, SECOND))
    shutil.rmtree(tmp_path / "2_step")
    for to in (None, 0):
        with pytest.raises(MigrationFailed, match="Install the newer Foja"):
            await migrate(empty_database_url, to=to, folder=tmp_path)
    assert tables(empty_database_url) == ["one", "two"]


async def test_a_missing_record_is_refused(empty_database_url: str, tmp_path: Path) -> None:
    folder = write(tmp_path, FIRST, SECOND)
    await migrate(empty_database_url, folder=folder)
    ask(empty_database_url, "delete from foja.migration where number = 1 returning 1")
    with pytest.raises(MigrationFailed, match="1_step is missing"):
        await migrate(empty_database_url, folder=folder)


@pytest.mark.parametrize("to", [-1, 3])
async def test_a_target_that_does_not_exist_is_refused(
    to: int, empty_database_url: str, tmp_path: Path
) -> None:
    with pytest.raises(MigrationFailed, match=f"no migration {to}"):
        await migrate(empty_database_url, to=to, folder=write(tmp_path, FIRST, SECOND))


async def test_a_locked_table_is_a_timeout(empty_database_url: str, tmp_path: Path) -> None:
    await migrate(empty_database_url, folder=write(tmp_path, FIRST))
    folder = write(
        tmp_path, FIRST, ("alter table public.one add more int;", "alter table public.one drop more;")
    )
    with psycopg.connect(empty_database_url) as busy:
        busy.execute("select * from public.one")
        with pytest.raises(MigrationFailed, match="waited too long"):
            await migrate(empty_database_url, folder=folder, lock_timeout=0.1)
    assert await migrate(empty_database_url, folder=folder) == Moved(1, 2)


async def test_an_unreachable_database_is_an_error(tmp_path: Path) -> None:
    url = f"postgresql://postgres@/foja?host={tmp_path}"
    with pytest.raises(MigrationFailed, match="Check FOJA_DATABASE_URL"):
        await migrate(url, folder=write(tmp_path, FIRST))


async def test_status_shows_every_migration_and_changes_nothing(
    empty_database_url: str, tmp_path: Path
) -> None:
    folder = write(tmp_path, FIRST, SECOND)
    assert [step.state for step in await status(empty_database_url, folder=folder)] == ["pending", "pending"]
    assert ask(empty_database_url, "select to_regnamespace('foja')") == [(None,)]
    await migrate(empty_database_url, to=1, folder=folder)
    steps = await status(empty_database_url, folder=folder)
    assert [(step.number, step.name, step.state) for step in steps] == [
        (1, "step", "applied"),
        (2, "step", "pending"),
    ]
    assert steps[0].applied_at is not None


async def test_status_shows_changed_and_unknown_migrations(empty_database_url: str, tmp_path: Path) -> None:
    await migrate(empty_database_url, folder=write(tmp_path, FIRST, SECOND))
    other = tmp_path / "other"
    other.mkdir()
    steps = await status(empty_database_url, folder=write(other, SECOND))
    assert [step.state for step in steps] == ["changed", "unknown"]


@pytest.mark.parametrize("name", ["01_padded", "2_skips", "1_Upper", "readme"])
async def test_a_folder_that_is_not_the_next_migration_is_refused(name: str, tmp_path: Path) -> None:
    write(tmp_path, FIRST)
    (tmp_path / "1_step").rename(tmp_path / name)
    with pytest.raises(MigrationFailed):
        await migrate("postgresql://unused", folder=tmp_path)


async def test_a_migration_without_a_down_script_is_refused(tmp_path: Path) -> None:
    write(tmp_path, FIRST)
    (tmp_path / "1_step" / "down.sql").unlink()
    with pytest.raises(MigrationFailed, match=r"1_step needs SQL files and a down\.sql"):
        await migrate("postgresql://unused", folder=tmp_path)


@pytest.mark.parametrize("run", ["first", "second"])
async def test_each_test_gets_its_own_migrated_database(run: str, database_url: str) -> None:
    assert {step.state for step in await status(database_url)} <= {"applied"}
    assert await migrate(database_url) == Moved(*2 * (len(await status(database_url)),))
    assert tables(database_url).count("mine") == 0
    with psycopg.connect(database_url) as conn:
        conn.execute("create table public.mine (id int)")
