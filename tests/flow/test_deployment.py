"""O7: backup, restore, psql, the metrics of a worker and of the log."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.embedded.postgres import stop
from tests.flow.command import FOJA, CommandResult, Process, Run, check_refused

Admin = psycopg.Connection[tuple[object, ...]]


def well(ran: CommandResult) -> CommandResult:
    assert ran.code == 0, ran.err
    return ran


@pytest.fixture
def filled(run: Run, tmp_path: Path) -> UUID:
    """A conversation and a final document."""
    conversation = uuid4()
    well(run("chat", "say", conversation, "where is my parcel?"))
    (tmp_path / "contract.txt").write_text("a contract")
    well(run("protect", tmp_path / "contract.txt", "--wait"))
    return conversation


@pytest.fixture
def new_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="foja-test-"))
    yield folder / "home"
    stop(folder / "home", "immediate")
    shutil.rmtree(folder)


def test_a_backup_becomes_the_same_installation_in_a_new_cluster(
    run: Run, filled: UUID, home: Path, new_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new cluster has none of the roles; the embedded one replaces a server of one's own."""
    before = [run("events", filled, "--json").out, run("log", "--json").out, run("log", "key").out]
    documents = run("status").out
    well(run("backup", tmp_path / "backup"))
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "backup").rglob("*")}
    assert (modes["database.dump"], modes["log.key"], modes["keys"]) == (0o600, 0o600, 0o700)
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o700
    check_refused(run("backup", tmp_path / "backup"), 2, "exists")
    check_refused(run("restore", tmp_path / "backup"), 2, "is not empty")
    check_refused(run("restore", tmp_path / "backup", "--home", tmp_path / "other"), 2, "has a schema foja")
    monkeypatch.delenv("FOJA_DATABASE_URL")
    well(run("restore", tmp_path / "backup", "--home", new_home))
    monkeypatch.setenv("FOJA_HOME", str(new_home))
    events, log, key = (run("events", filled, "--json").out, run("log", "--json").out, run("log", "key").out)
    assert _without_cursors(events) == _without_cursors(before[0])
    assert [log, key] == before[1:]
    assert run("status").out == documents
    assert run("fsck", "--tiles").code == 0
    assert well(run("chat", "say", filled, "still here")).out == f"event 1 of {filled}\n"


def _without_cursors(lines: str) -> list[object]:
    """Return events without their cursors: the epoch of a restored database is new."""
    return [{**json.loads(line), "cursor": None} for line in lines.splitlines()]


def test_another_folder_is_no_backup(run: Run, tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    check_refused(run("restore", tmp_path / "some"), 2, "not a complete backup")


@pytest.mark.usefixtures("filled")
def test_psql_runs_the_programs_of_the_wheel_without_showing_a_password(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOJA_DATABASE_URL", database_url.replace("postgres@", "postgres:hunter2@", 1))
    words = ["psql", "--", "-At", "-c", "select count(*) from foja.entity", "-c", "\\! ps -eo args"]
    ran = subprocess.run([*FOJA, *words], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[0] == "2"
    assert "hunter2" not in ran.stdout


def read_metrics(url: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#"]
    return {name: float(value) for name, value in lines}


def test_a_worker_serves_its_metrics_and_those_of_the_log(
    run: Run, spawn: Callable[..., Process], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOJA_METRICS_CACHE_SECONDS", "0")
    well(run("chat", "say", uuid4(), "hello"))
    process = spawn("worker", "--metrics-port", 0, "--json")
    url = json.loads(process.line())["metrics"]
    found = read_metrics(url)
    assert (found["foja_log_halted"], found["foja_log_lag_seconds"]) == (0, 0)
    assert found["foja_job_leases_lost_total"] == 0
    admin.execute("update foja.log set halted = 'a test'")
    assert read_metrics(url)["foja_log_halted"] == 1
    well(run("chat", "say", uuid4(), "unpublished"))
    admin.execute("select pg_sleep(2)")  # a wait that the metric must show
    assert read_metrics(url)["foja_log_lag_seconds"] >= 1
    with urllib.request.urlopen(f"{url}/healthz", timeout=60) as answer:
        assert answer.status == 200
    assert process.end(signal.SIGTERM).code == 0
