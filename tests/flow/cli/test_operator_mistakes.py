"""The log is read across a restart; a wrong setting, login, disk or option is named."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

import foja
from foja.engine.embedded.postgres import PostgresServer, start, stop
from tests.counterparties.ports import free_port
from tests.flow.command import Process, Run, check_refused
from tests.flow.images.small_disk import small_disk

AT_STEP = "the schema is at step {}, and this Foja needs step 15; run `foja migrate`"


def until_answered(url: str, status: int) -> Any:
    """Return what an address answers once it does with this status."""
    answer = None
    for _ in range(300):
        with suppress(httpx.TransportError):
            answer = httpx.get(url, timeout=30)
            if answer.status_code == status:
                return answer.json()
        time.sleep(0.2)
    raise AssertionError(answer and answer.text)


@pytest.fixture
def restarted(run: Run) -> list[str]:
    """The texts of a log that was restarted once, in order."""
    conversation = uuid4()
    for text in ("a", "b", "c"):
        assert run("chat", "say", conversation, text).code == 0
    assert run("log", "restart", "--yes").code == 0
    for text in ("d", "e"):
        assert run("chat", "say", conversation, text).code == 0
    return ["a", "b", "c", "d", "e"]


def texts(run: Run, *options: object) -> list[str]:
    ran = run("events", "log", *options)
    assert ran.code == 0, ran.err
    return [line.partition('"content": "')[2].partition('"')[0] for line in ran.lines]


def test_the_log_is_read_across_a_restart(run: Run, restarted: list[str]) -> None:
    """`foja events log` crosses a restart, with and without --limit and --after."""
    assert texts(run) == restarted
    for limit in range(1, 6):
        assert texts(run, "--limit", limit) == restarted[:limit]
    for number in range(-1, 5):
        assert texts(run, "--after", number) == restarted[number + 1 :]
    check_refused(run("events", "log", "--after", 5), 1, "another history")


def test_a_misspelt_setting_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A misspelt setting is ignored, and said so with the name that was probably meant."""
    monkeypatch.setenv("FOJA_DATABSE_URL", "postgresql://elsewhere")
    monkeypatch.setenv("FOJA_ZZZ", "1")
    warned = run("audit").err
    assert "FOJA_DATABSE_URL is not a setting and is ignored; did you mean FOJA_DATABASE_URL?" in warned
    assert "FOJA_ZZZ is not a setting and is ignored; docs/settings.md" in warned
    caplog.clear()
    foja.connect()
    assert "did you mean FOJA_DATABASE_URL?" in caplog.text


@pytest.fixture(scope="module")
def guarded() -> Iterator[PostgresServer]:
    """A server of its own that also listens on a port, with passwords."""
    folder = Path(tempfile.mkdtemp(prefix="foja-test-"))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with start(folder, port=port) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("create role ana login password 'right'")
        yield server
    stop(folder, "immediate")
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("login", "name"),
    [("ana:wrong@", "foja"), ("ana@", "foja"), ("nemo:wrong@", "foja"), ("ana:right@", "absent")],
)
def test_a_refused_login_is_not_an_outage(run: Run, guarded: PostgresServer, login: str, name: str) -> None:
    """A wrong user, password or database is an error of the settings; trying again cannot help."""
    port = psycopg.conninfo.conninfo_to_dict(guarded.url)["port"]
    for verb in ("audit", "status", "migrate", "worker"):
        refused = run(verb, "--database-url", f"postgresql://{login}127.0.0.1:{port}/{name}")
        check_refused(refused, 2, "FOJA_DATABASE_URL")
        assert "the database does not answer" not in refused.err
        assert "try again" not in refused.err


def test_a_full_store_is_named(run: Run, home: Path, tmp_path: Path) -> None:
    """The error of a full disk names the store and says what to do."""
    (home / "store").mkdir(parents=True)
    with small_disk(home / "store", "1m"):
        (tmp_path / "large.bin").write_bytes(secrets.token_bytes(2_000_000))
        refused = run("protect", tmp_path / "large.bin")
        assert refused.code == 2
        assert str(home / "store") in refused.err
        assert "No space left on device. Free space there" in refused.err


def test_going_back_needs_a_confirmation(run: Run, empty_database_url: str) -> None:
    """`foja migrate --to` names what it would revert, and reverts it only with --yes."""
    target = ("--database-url", empty_database_url)
    newest = run("migrate", "--json", *target).document["after"]
    refused = run("migrate", "--to", 2, *target)
    check_refused(refused, 2, "--yes")
    assert f"revert {newest} " in refused.err
    assert run("migrate", "--status", *target).code == 0
    assert run("migrate", "--to", newest, *target).code == 0
    assert run("migrate", "--to", 2, "--yes", "--json", *target).document["after"] == 2


def test_going_back_names_the_processes_that_run(run: Run, empty_database_url: str, tmp_path: Path) -> None:
    """It went ahead beside a running server, which answered 500 with codes of PostgreSQL from then on."""
    target = ("--database-url", empty_database_url)
    assert run("migrate", *target).code == 0
    port = free_port()
    server = Process("web", "--home", tmp_path / "other", "--port", port, *target)
    try:
        url = f"http://127.0.0.1:{port}/v1/webhooks"
        until_answered(url, 200)
        refused = run("migrate", "--to", 13, "--yes", *target)
        check_refused(refused, 2, f"{socket.gethostname()}:{server.id}")
        assert "--yes running" in refused.err
        assert run("migrate", "--to", 13, "--yes", "running", *target).code == 0
        answer = until_answered(url, 503)
        assert (answer["code"], answer["detail"]) == ("schema_differs", AT_STEP.format(13))
    finally:
        server.kill()


@pytest.mark.parametrize("verb", ["audit", "log", "status"])
def test_commands_name_the_step_of_a_schema_that_went_back(
    run: Run, empty_database_url: str, verb: str
) -> None:
    """`foja audit` said "permission denied for schema foja" at step 1."""
    target = ("--database-url", empty_database_url)
    for step in (15, 1):
        assert run("migrate", "--to", step, "--yes", *target).code == 0
    check_refused(run(verb, *target), 2, AT_STEP.format(1))


def test_a_type_without_a_worker_is_refused_before_anything_is_printed(run: Run) -> None:
    """`foja worker --only` with an unknown type never says that it works."""
    check_refused(run("worker", "--only", "nope"), 1, "no worker here does 'nope'")


@pytest.mark.parametrize("given", ["pipe", "/dev/zero"])
def test_a_special_file_is_refused_and_not_read(run: Run, tmp_path: Path, given: str) -> None:
    """A pipe without a writer made `foja protect` wait forever, and /dev/zero has no end."""
    os.mkfifo(tmp_path / "pipe")
    refused = run("protect", tmp_path / given)
    assert (refused.code, "0 added, 0 known, 1 could not be read" in refused.out) == (1, True)
    assert "special file, which may have no end; copy its content to a file" in refused.err


def test_an_output_without_a_folder_is_refused_by_its_name(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "absent" / "rules.yml"
    refused = run("alerts", "rules", "-o", target)
    check_refused(refused, 2, f"{target} cannot be written: {target.parent} is not a folder; create it")


@pytest.mark.parametrize("space", ["4k", "512k"])
def test_a_full_disk_of_a_backup_is_not_an_outage_of_the_database(
    run: Run, tmp_path: Path, space: str
) -> None:
    (tmp_path / "large.bin").write_bytes(secrets.token_bytes(1_000_000))
    assert run("protect", tmp_path / "large.bin").code == 0
    (tmp_path / "small").mkdir()
    with small_disk(tmp_path / "small", space):
        target = tmp_path / "small" / "today.tar"
        check_refused(
            run("backup", "-o", target), 2, f"{target} was not written: no space is left on its disk"
        )
        assert list(target.parent.iterdir()) == []
