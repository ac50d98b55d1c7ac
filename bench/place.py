"""Where all of it happens: one PostgreSQL server, a database for each contender."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from foja.embedded import postgres

# What every contender is measured under; a server that promises less is refused.
PROMISES = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


@dataclass(frozen=True, slots=True)
class Room:
    """A database of one's own, and a folder beside it."""

    url: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Place:
    """The server, as its administrator sees it."""

    url: str
    folder: Path
    version: str

    @contextmanager
    def room(self) -> Iterator[Room]:
        """Lend an empty database; it is dropped afterwards."""
        name = f"foja_bench_{secrets.token_hex(6)}"
        folder = self.folder / name
        folder.mkdir()
        self._administer("create database {}", name)
        try:
            yield Room(urlsplit(self.url)._replace(path=f"/{name}").geturl(), folder)
        finally:
            self._administer("drop database {} with (force)", name)

    def settle(self, room: Room) -> None:
        """Do what autovacuum would do in a minute, so that it does not do it while we measure."""
        with psycopg.connect(room.url, autocommit=True) as connection:
            connection.execute("vacuum analyze")

    def checkpoint(self) -> None:
        """Let no checkpoint fall due by itself for a while."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("checkpoint")

    def _administer(self, command: str, name: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL(command).format(sql.Identifier(name)))


@contextmanager
def open_place() -> Iterator[Place]:
    """Lend `FOJA_BENCH_DATABASE_URL`, or an embedded server that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="foja-bench-") as folder, _server(Path(folder)) as url:
        yield Place(url, Path(folder), _check(url))


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    given = os.environ.get("FOJA_BENCH_DATABASE_URL")
    server: AbstractContextManager[postgres.PostgresServer | None]
    server = nullcontext() if given else postgres.start(folder / "home")
    with server as started:
        yield given or (started.url if started else "")


def _check(url: str) -> str:
    """Return the server's version, or refuse one that answers before it has written."""
    with psycopg.connect(url) as connection:
        for name, promised in PROMISES.items():
            row = connection.execute(sql.SQL("show {}").format(sql.Identifier(name))).fetchone()
            if row != (promised,):
                raise SystemExit(f"{name} is {row and row[0]} on this server; the bench needs it {promised}.")
        return f"PostgreSQL {connection.info.server_version // 10_000}"
