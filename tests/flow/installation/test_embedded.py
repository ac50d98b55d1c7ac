"""The embedded PostgreSQL, with real processes that start, share, stop and kill the server."""

from __future__ import annotations

import multiprocessing
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from foja.engine.embedded import postgres
from foja.engine.embedded.postgres import PostgresServer, account, binaries, running, start, stop
from foja.errors import EmbeddedFailed
from tests.counterparties.ports import free_port

USER = """
import sys
from pathlib import Path
from foja.engine.embedded.postgres import start

with start(Path(sys.argv[1])) as server:
    print(server.pid, flush=True)
    sys.stdin.readline()
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root uses another account")


@pytest.fixture
def empty_home() -> Iterator[Path]:
    """A home outside pytest's folders, because pytest resets their rights for every run."""
    folder = Path(tempfile.mkdtemp(prefix="foja-test-"))
    yield folder
    stop(folder, "immediate")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def made_home() -> Iterator[Path]:
    """A home whose server has run once, without fsync: it survives a kill, but not a power cut."""
    with tempfile.TemporaryDirectory(prefix="foja-test-") as folder:
        with start(Path(folder)) as server, (server.data / "postgresql.conf").open("a") as settings:
            settings.write("fsync = off\n")
        yield Path(folder)


@pytest.fixture
def home(made_home: Path, empty_home: Path) -> Path:
    """A home for each test: a copy, which takes less time than a new one."""
    subprocess.run(["cp", "-a", f"{made_home}/postgres", f"{empty_home}/postgres"], check=True)
    return empty_home


class User:
    """Another process that uses the server of a home until `leave`."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def server_pid(self) -> int:
        """Wait until the server runs and return its pid."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def leave(self) -> None:
        self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole process group, as a terminal does."""
        os.killpg(self.process.pid, number)
        self.process.communicate(timeout=60)


@pytest.fixture
def user(empty_home: Path) -> Iterator[Callable[[], User]]:
    users: list[User] = []

    def join() -> User:
        users.append(User(empty_home))
        return users[-1]

    yield join
    for one in users:
        if one.process.poll() is None:
            one.process.kill()
        with suppress(ValueError):
            one.process.communicate(timeout=60)


def ask(server: PostgresServer, query: Any) -> Any:
    with psycopg.connect(server.url, autocommit=True) as conn:
        cursor = conn.execute(query)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_an_empty_home_becomes_a_durable_database(empty_home: Path) -> None:
    with start(empty_home) as server:
        assert server.data == empty_home / "postgres"
        assert ask(server, "select current_database()") == "foja"
        assert ask(server, "show server_encoding") == "UTF8"
        assert ask(server, "select lower('ÁRBOL')") == "árbol"
        assert [ask(server, f"show {name}") for name in ("fsync", "synchronous_commit")] == ["on", "on"]
        assert ask(server, "show max_connections") == "200"
        assert ask(server, "show listen_addresses") == ""
    assert running(empty_home) is None


def test_data_survives_a_restart(home: Path) -> None:
    with start(home) as server:
        ask(server, "create table stored as select 42 as n")
    with start(home) as server:
        assert ask(server, "select n from stored") == 42


def test_a_second_process_shares_the_server_and_the_last_one_stops_it(
    home: Path, user: Callable[[], User]
) -> None:
    first, second = user(), user()
    assert first.server_pid() == second.server_pid()
    first.leave()
    assert running(home) is not None
    second.leave()
    assert running(home) is None


def test_two_users_in_one_process_are_two_users(home: Path) -> None:
    first, second = start(home), start(home)
    first.release()
    first.release()
    assert ask(second, "select 1") == 1
    second.release()
    assert running(home) is None


def test_a_forked_child_cannot_release_the_share_of_its_parent(home: Path) -> None:
    with start(home) as server:
        child = multiprocessing.get_context("fork").Process(target=server.release)
        child.start()
        child.join()
        assert child.exitcode == 0
        with start(home):
            pass
        assert ask(server, "select 1") == 1


def test_processes_that_start_at_once_get_one_server(empty_home: Path, user: Callable[[], User]) -> None:
    users = [user() for _ in range(4)]
    assert len({one.server_pid() for one in users}) == 1
    for one in users:
        one.leave()
    assert running(empty_home) is None


def test_the_next_user_takes_over_the_server_of_a_killed_one(home: Path, user: Callable[[], User]) -> None:
    killed = user()
    pid = killed.server_pid()
    killed.signal(signal.SIGKILL)
    with start(home) as server:
        assert server.pid == pid
    assert running(home) is None


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(home: Path, user: Callable[[], User]) -> None:
    with start(home) as server:
        interrupted = user()
        interrupted.server_pid()
        interrupted.signal(signal.SIGINT)
        assert ask(server, "select 1") == 1


def test_a_killed_server_is_started_again_with_its_data(home: Path) -> None:
    with start(home) as server:
        ask(server, "create table stored as select 42 as n")
        os.kill(server.pid, signal.SIGKILL)
        with start(home) as again:
            assert again.pid != server.pid
            assert ask(again, "select n from stored") == 42


def test_a_start_waits_for_the_backends_of_a_killed_server(home: Path) -> None:
    with start(home) as server, psycopg.connect(server.url) as conn:
        os.kill(conn.info.backend_pid, signal.SIGSTOP)
        os.kill(server.pid, signal.SIGKILL)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            waiting = pool.apply_async(_start_and_release, (home,))
            time.sleep(0.5)
            assert not waiting.ready()
            os.kill(conn.info.backend_pid, signal.SIGCONT)
            assert waiting.get(timeout=60) != server.pid


def _start_and_release(home: Path) -> int:
    with start(home) as server:
        return server.pid


def test_a_stale_pid_file_that_names_a_live_process_is_ignored(home: Path) -> None:
    with start(home):
        pass
    (home / "postgres" / "postmaster.pid").write_text(
        f"{os.getpid()}\n{home}/postgres\n0\n5432\n/tmp\n\n0 0\nready\n"
    )
    assert running(home) is None
    with start(home) as server:
        assert ask(server, "select 1") == 1


def test_the_next_start_succeeds_after_a_kill_during_initdb(
    empty_home: Path, user: Callable[[], User]
) -> None:
    killed = user()
    wait_for(lambda: list(empty_home.glob("postgres.new-*/base")))
    killed.signal(signal.SIGKILL)
    assert not (empty_home / "postgres").exists()
    with start(empty_home) as server:
        assert ask(server, "select 1") == 1
    assert not list(empty_home.glob("postgres.new-*"))


def test_the_next_start_succeeds_after_a_kill_before_createdb(home: Path) -> None:
    with (
        start(home) as server,
        psycopg.connect(server.url.replace("/foja?", "/postgres?"), autocommit=True) as conn,
    ):
        conn.execute("drop database foja")
    with start(home) as server:
        assert ask(server, "select current_database()") == "foja"


def test_stop_ends_the_server_for_all(home: Path) -> None:
    stop(home)
    server, _other = start(home), start(home)
    stop(server)
    assert running(home) is None
    with start(home) as again:
        stop(home, "immediate")
        assert running(home) is None
        again.release()


def test_options_are_settings_of_the_server(home: Path) -> None:
    with start(home, options={"enable_sort": "off", "application_name": "it's $HOME"}) as server:
        assert ask(server, "show enable_sort") == "off"
        assert (
            ask(server, "select reset_val from pg_settings where name = 'application_name'") == "it's $HOME"
        )


def test_a_port_is_local_and_needs_a_password(home: Path) -> None:
    port = free_port()
    with start(home, port=port) as server:
        assert ask(server, "show listen_addresses") == "127.0.0.1"
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/foja")
        with pytest.raises(EmbeddedFailed, match="already runs without"):
            start(home, port=port + 1)
        assert ask(server, "select 1") == 1


def test_a_server_that_cannot_start_shows_its_log(home: Path) -> None:
    with pytest.raises(EmbeddedFailed, match=r'(?s)ends with:.*invalid value for parameter "work_mem"'):
        start(home, options={"work_mem": "lots"})
    with start(home) as server:
        assert ask(server, "select 1") == 1


def test_another_folder_is_not_used_for_data(empty_home: Path) -> None:
    (empty_home / "postgres").mkdir()
    (empty_home / "postgres" / "letter.txt").touch()
    with pytest.raises(EmbeddedFailed, match="is not a PostgreSQL data folder"):
        start(empty_home)


def test_data_of_an_unknown_version_is_refused(empty_home: Path) -> None:
    (empty_home / "postgres").mkdir()
    (empty_home / "postgres" / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedFailed, match="created by PostgreSQL 9"):
        start(empty_home)


def test_long_paths_with_special_characters_work(empty_home: Path) -> None:
    home = empty_home / ("long " * 30) / 'quote" $HOME'
    with start(home) as server:
        assert ask(server, "select 1") == 1
    assert running(home) is None


def test_settings_of_other_servers_are_ignored(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGPORT": "1", "PGHOST": "nowhere", "PGDATA": "/nowhere", "PGUSER": "nobody"}.items():
        monkeypatch.setenv(name, value)
    with start(home) as server:
        assert ask(server, "select current_user") == "postgres"


def test_processes_with_other_temporary_folders_find_the_server(
    home: Path, user: Callable[[], User], monkeypatch: pytest.MonkeyPatch
) -> None:
    with start(home) as server:
        (home / "tmp").mkdir()
        monkeypatch.setenv("TMPDIR", str(home / "tmp"))
        assert user().server_pid() == server.pid


def test_other_users_cannot_enter_the_folder_of_the_socket(home: Path) -> None:
    with start(home) as server:
        folder = Path(ask(server, "show unix_socket_directories"))
        assert folder.stat().st_mode & 0o077 == 0
        assert folder.stat().st_uid == server.data.stat().st_uid
    assert not folder.exists()


@needs_root
def test_a_socket_folder_of_another_user_is_not_used(home: Path) -> None:
    with start(home) as server:
        folder = Path(ask(server, "show unix_socket_directories"))
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    with pytest.raises(EmbeddedFailed, match="another user may have created it"):
        start(home)
    folder.rmdir()


@needs_root
def test_first_starts_at_once_create_one_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each start sees that the account is missing before the first has added it."""
    add, added = account._add, []

    def add_slowly() -> str:
        time.sleep(0.3)
        added.append(error := add())
        return error

    monkeypatch.setattr(account, "NAME", f"foja-{secrets.token_hex(4)}")
    monkeypatch.setattr(account, "_add", add_slowly)
    try:
        with ThreadPoolExecutor(4) as starts:
            entries = [starts.submit(account._ensure_entry) for _ in range(4)]
        assert len({each.result().pw_uid for each in entries}) == 1
        assert added == [""]
    finally:
        subprocess.run(["userdel", account.NAME], check=False, capture_output=True)


@needs_root
def test_an_account_that_cannot_be_created_is_a_typed_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(account, "NAME", "foja-nobody-has-this-account")
    monkeypatch.setattr(account, "LOCK", str(tmp_path / "absent" / "lock"))
    with pytest.raises(EmbeddedFailed, match="FOJA_DATABASE_URL"):
        account._ensure_entry()
    monkeypatch.setattr(account, "LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr(account, "ADD_SECONDS", 1.0)
    monkeypatch.setattr(account, "_add", lambda: "cannot lock /etc/passwd")
    with pytest.raises(EmbeddedFailed, match="cannot lock /etc/passwd"):
        account._ensure_entry()


@needs_root
def test_root_opens_closed_folders_only_to_the_server(empty_home: Path) -> None:
    closed = empty_home / "closed"
    closed.mkdir(mode=0o700)
    with start(closed / "home") as server:
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert "Groups:\t \n" in status
        uid = server.data.stat().st_uid
        assert uid != 0
    assert closed.stat().st_mode & 0o007 == 0
    assert _may_enter(closed, uid)
    assert not _may_enter(closed, 65534)


def _may_enter(folder: Path, uid: int) -> bool:
    done = subprocess.run(["test", "-x", str(folder)], user=uid, group=uid, extra_groups=[], check=False)
    return done.returncode == 0


@needs_root
def test_an_ordinary_user_runs_the_server_itself(empty_home: Path) -> None:
    empty_home.chmod(0o755)
    own = empty_home / "own"
    own.mkdir()
    os.chown(own, 65534, 65534)
    binaries()  # imported while we are root: the interpreter may be in a folder of root
    with multiprocessing.get_context("fork").Pool(1, initializer=_become_nobody) as pool:
        assert pool.apply(_start_and_release, (own,)) > 0
    assert (own / "postgres" / "PG_VERSION").stat().st_uid == 65534


def _become_nobody() -> None:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def test_the_programs_are_installed() -> None:
    for program in ("initdb", "pg_ctl", "postgres", "pg_dump", "psql"):
        assert (binaries() / program).is_file()


def test_it_does_not_know_the_secrets_of_the_process(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was given the whole environment, with the passwords of databases and the keys of stores."""
    for name in ("FOJA_TSA_URLS", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN"):
        monkeypatch.setenv(name, "hunter2")
    with start(home) as server:
        environment = Path(f"/proc/{server.pid}/environ").read_bytes()
    assert b"PATH=" in environment
    assert b"hunter2" not in environment


def test_a_frozen_server_is_named_and_not_waited_for_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`foja doctor` waited for nine minutes, with the lock that every other command needed."""
    monkeypatch.setattr(postgres, "ANSWER_SECONDS", 2)
    with start(home) as server:
        os.kill(server.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            with pytest.raises(EmbeddedFailed, match=f"kill -CONT {server.pid}"):
                start(home)
            assert time.monotonic() - began < 60, "one wait, not fifty"
        finally:
            os.kill(server.pid, signal.SIGCONT)
        start(home).release()
