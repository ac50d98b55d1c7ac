"""One PostgreSQL data folder: make it, run it, find it alive, halt it.

Callers hold the home's turn. Whether a server lives is asked of the kernel, not of a pid file: every
process that works on the data inherits the lock `postgres.alive`, and nothing else keeps it. While it is
taken the data is in use, by whatever container or namespace; once it is free, a `postmaster.pid` left
behind is rubbish.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from foja.durable import sync
from foja.embedded import locks
from foja.embedded.postgres import sockets
from foja.embedded.postgres.account import Account, choose
from foja.embedded.postgres.programs import log_tail, run
from foja.errors import EmbeddedFailed

Mode = Literal["fast", "immediate"]

ADMINISTRATOR = "postgres"
START_TIMEOUT_SECONDS = 120.0

_SIGNALS: dict[Mode, signal.Signals] = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
# Written into postgresql.conf once, where an administrator may change them.
_SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "128MB",
    "fsync": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# Built into PostgreSQL, so that a database sorts the same on every machine.
_LOCALE = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
# The socket lies in a folder only we may enter; over TCP everybody needs a password.
_TRUST = ("--auth-local=trust", "--auth-host=scram-sha-256")


@dataclass(frozen=True, slots=True)
class Postmaster:
    """A server that accepts connections now."""

    pid: int
    port: int
    sockets: Path


def live(home: Path) -> Postmaster | None:
    """Return the server of this home if it accepts connections now."""
    try:
        lines = (home / "postgres" / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return None
    if len(lines) < 8 or lines[7].strip() != "ready":
        return None
    server = Postmaster(int(lines[0]), int(lines[3]), Path(lines[4]))
    return server if sockets.answers(server.sockets, server.port) else None


def ensure_running(home: Path, port: int | None, options: Mapping[str, str]) -> Postmaster:
    """Return the live server of this home, started if there is none."""
    with _alive(home) as lock:
        if server := _settle(home, lock):
            return server
        account = choose(home / "postgres")
        _make(home, account, lock)
        _launch(home, account, lock, _arguments(home, account, port, options))
    if server := live(home):
        return server
    raise EmbeddedFailed(f"PostgreSQL started and went away at once.{log_tail(home)}")


def halt(home: Path, mode: Mode) -> None:
    """Stop the server of this home, if one lives, and wait for its last process."""
    with _alive(home) as lock:
        if server := _settle(home, lock):
            with contextlib.suppress(ProcessLookupError):
                os.kill(server.pid, _SIGNALS[mode])
            _await_end(home, lock)
        sockets.remove(home / "postgres", choose(home / "postgres"))


def create_database(home: Path, url: str, name: str) -> None:
    """Make a database on the running server that `url` leads to."""
    run(home, None, "createdb", f"--maintenance-db={url}", name, pgdata=home / "postgres")


@contextlib.contextmanager
def _alive(home: Path) -> Iterator[int]:
    lock = locks.open_lock(home / "postgres.alive")
    try:
        yield lock
    finally:
        os.close(lock)


def _settle(home: Path, lock: int) -> Postmaster | None:
    """Wait out a start or an end; None means nobody is left and the lock is ours."""
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while not locks.take(lock):
        if server := live(home):
            return server
        _check_patience(home, deadline)
    return None


def _await_end(home: Path, lock: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while not locks.take(lock):
        _check_patience(home, deadline)


def _check_patience(home: Path, deadline: float) -> None:
    if time.monotonic() > deadline:
        raise EmbeddedFailed(
            f"a PostgreSQL process holds {home / 'postgres'} and cannot be reached: it recovers, stops, or "
            f"runs in another container. Wait and try again, stop it there, or set FOJA_DATABASE_URL."
            f"{log_tail(home)}"
        )
    time.sleep(0.01)


def _make(home: Path, account: Account | None, lock: int) -> None:
    """Make the data folder unless it exists: all of it or nothing."""
    data = home / "postgres"
    if (data / "PG_VERSION").exists():
        return
    if data.exists() and any(data.iterdir()):
        raise EmbeddedFailed(
            f"{data} holds something else than PostgreSQL. Move it, or choose another FOJA_HOME."
        )
    for unfinished in home.glob("postgres.new-*"):
        shutil.rmtree(unfinished, ignore_errors=True)
    fresh = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=home))
    if account:
        account.own(fresh)
    settings = [f"--set={name}={value}" for name, value in _SETTINGS.items()]
    run(
        home,
        account,
        "initdb",
        f"--username={ADMINISTRATOR}",
        *_LOCALE,
        *_TRUST,
        *settings,
        pgdata=fresh,
        inherit=[lock],
    )
    fresh.rename(data)
    sync(home)


def _arguments(home: Path, account: Account | None, port: int | None, options: Mapping[str, str]) -> str:
    """Return what the server is told when it starts, quoted for pg_ctl's shell."""
    settings = {
        "listen_addresses": "127.0.0.1" if port else "",
        "port": str(port or 5432),
        "unix_socket_directories": str(sockets.prepare(home / "postgres", account)),
        **options,
    }
    return shlex.join(word for name, value in settings.items() for word in ("-c", f"{name}={value}"))


def _launch(home: Path, account: Account | None, lock: int, arguments: str) -> None:
    """Start the server and wait until it is ready; it outlives us and our terminal."""
    (home / "postgres" / "postmaster.pid").unlink(missing_ok=True)
    log = home / "postgres.log"
    log.touch(mode=0o600)
    if account:
        account.own(log)
    command = (
        "start",
        "--wait",
        f"--timeout={START_TIMEOUT_SECONDS:.0f}",
        f"--log={log.name}",
        f"--options={arguments}",
    )
    run(home, account, "pg_ctl", *command, pgdata=home / "postgres", inherit=[lock])
