"""One PostgreSQL data folder: create it, run its server, find the running server, stop it.

Callers hold the lock `postgres.turn`. The kernel says whether a server runs, not a pid file: every process
that works on the data inherits the lock `postgres.alive`, and no other process holds it. While that lock is
taken, the data is in use, also by another container or namespace. Once it is free, a remaining
`postmaster.pid` is stale.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from foja.engine.embedded import locks
from foja.engine.embedded.postgres import sockets
from foja.engine.embedded.postgres.account import Account, choose
from foja.engine.embedded.postgres.programs import log_tail, run
from foja.engine.private import sync
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
# Only the owner may enter the folder of the socket; every TCP connection needs a password.
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


def is_down(home: Path) -> bool:
    """Return whether no process works on the data of this home. It only asks the kernel."""
    try:
        with locks.opened(home / "postgres.alive") as lock:
            return locks.try_exclusive(lock)
    except OSError:
        return True


def last_options(home: Path) -> dict[str, str]:
    """Return the options that the server of this home was last started with."""
    words = shlex.split((home / "postgres" / "postmaster.opts").read_text())
    return dict(word.split("=", 1) for word in words if "=" in word)


def ensure_running(home: Path, port: int | None, options: Mapping[str, str]) -> Postmaster:
    """Return the running server of this home. Start it if there is none."""
    with locks.opened(home / "postgres.alive") as lock:
        if server := _take_lock(home, lock, or_server=True):
            return server
        account = choose(home / "postgres")
        _make(home, account, lock)
        _launch(home, account, lock, _arguments(home, account, port, options))
    if server := live(home):
        return server
    raise EmbeddedFailed(f"PostgreSQL started and stopped at once.{log_tail(home)}")


def halt(home: Path, mode: Mode) -> None:
    """Stop the server of this home, if it runs, and wait for its last process."""
    with locks.opened(home / "postgres.alive") as lock:
        if server := _take_lock(home, lock, or_server=True):
            with contextlib.suppress(ProcessLookupError):
                os.kill(server.pid, _SIGNALS[mode])
            _take_lock(home, lock, or_server=False)
        sockets.remove(home / "postgres", choose(home / "postgres"))


def create_database(home: Path, url: str, name: str) -> None:
    """Create a database on the running server at `url`."""
    run(home, None, "createdb", f"--maintenance-db={url}", name, pgdata=home / "postgres")


def _take_lock(home: Path, lock: int, *, or_server: bool) -> Postmaster | None:
    """Wait until no process works on the data. With `or_server`, return a server that answers meanwhile."""
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while not locks.try_exclusive(lock):
        if or_server and (server := live(home)):
            return server
        if time.monotonic() > deadline:
            raise EmbeddedFailed(
                f"a PostgreSQL process uses {home / 'postgres'} and does not answer: it recovers, stops, or "
                f"runs in another container. Wait and try again, stop it there, or set FOJA_DATABASE_URL."
                f"{log_tail(home)}"
            )
        time.sleep(0.01)
    return None


def _make(home: Path, account: Account | None, lock: int) -> None:
    """Create the data folder atomically, unless it exists."""
    data = home / "postgres"
    if (data / "PG_VERSION").exists():
        return
    if data.exists() and any(data.iterdir()):
        raise EmbeddedFailed(f"{data} is not a PostgreSQL data folder. Move it, or choose another FOJA_HOME.")
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
    """Return the server's options, quoted for pg_ctl's shell."""
    settings = {
        "listen_addresses": "127.0.0.1" if port else "",
        "port": str(port or 5432),
        "unix_socket_directories": str(sockets.folder(home / "postgres")),
        **options,
    }
    sockets.prepare(Path(settings["unix_socket_directories"]), account)
    return shlex.join(each for name, value in settings.items() for each in ("-c", f"{name}={value}"))


def _launch(home: Path, account: Account | None, lock: int, arguments: str) -> None:
    """Start the server and wait until it is ready. It outlives this process and its terminal."""
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
