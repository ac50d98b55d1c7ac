"""The PostgreSQL server of the benchmarks, and a new database for each contender."""

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

from foja.engine.embedded import postgres

# Every contender is measured with these settings; a server with weaker ones is refused.
REQUIRED_SETTINGS = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


@dataclass(frozen=True, slots=True)
class BenchDatabase:
    """A database and a folder for one contender."""

    url: str
    folder: Path


@dataclass(frozen=True, slots=True)
class BenchServer:
    """The server, connected as administrator."""

    url: str
    folder: Path
    version: str

    @contextmanager
    def create_database(self) -> Iterator[BenchDatabase]:
        """Yield an empty database; drop it afterwards."""
        name = f"foja_bench_{secrets.token_hex(6)}"
        folder = self.folder / name
        folder.mkdir()
        self._administer("create database {}", name)
        try:
            yield BenchDatabase(urlsplit(self.url)._replace(path=f"/{name}").geturl(), folder)
        finally:
            self._administer("drop database {} with (force)", name)

    def vacuum(self, database: BenchDatabase) -> None:
        """Vacuum and analyze now, so that autovacuum does not run during a measurement."""
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute("vacuum analyze")

    def checkpoint(self) -> None:
        """Run a checkpoint now, so that the next one is not due for a while."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("checkpoint")

    def _administer(self, command: str, name: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL(command).format(sql.Identifier(name)))


@contextmanager
def open_server() -> Iterator[BenchServer]:
    """Yield the server of `FOJA_BENCH_DATABASE_URL`, or a temporary embedded server."""
    with tempfile.TemporaryDirectory(prefix="foja-bench-") as folder, _server(Path(folder)) as url:
        yield BenchServer(url, Path(folder), _check(url))


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    given = os.environ.get("FOJA_BENCH_DATABASE_URL")
    server: AbstractContextManager[postgres.PostgresServer | None]
    server = nullcontext() if given else postgres.start(folder / "home")
    with server as started:
        yield given or (started.url if started else "")


def _check(url: str) -> str:
    """Return the version of the server; exit if one of the required settings differs."""
    with psycopg.connect(url) as connection:
        for name, required in REQUIRED_SETTINGS.items():
            row = connection.execute(sql.SQL("show {}").format(sql.Identifier(name))).fetchone()
            if row != (required,):
                raise SystemExit(f"{name} is {row and row[0]} on this server; set it to {required}")
        return f"PostgreSQL {connection.info.server_version // 10_000}"
