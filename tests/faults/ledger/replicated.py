"""PostgreSQL servers of the programs of the wheel: one, or one and its standby that it waits for."""

from __future__ import annotations

import os
import shlex
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.pq import PGconn, Ping

from foja.engine.embedded.postgres import binaries
from foja.engine.embedded.postgres.account import Account, choose
from tests.postgres_server import folder_in_memory, run_program

SECONDS = 60.0  # what nothing here may need, however busy the machine is
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "60",
    "wal_retrieve_retry_interval": "100ms",
    "autovacuum_naptime": "1h",
}


@dataclass(frozen=True, slots=True)
class Server:
    """One server. Its data and its socket are in one folder."""

    folder: Path
    programs: Path
    account: Account | None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def start(self) -> None:
        """Start the server and wait until it is ready. What a killed one left is recovered first."""
        settings = {"unix_socket_directories": str(self.folder), **SETTINGS}
        words = shlex.join(word for name, value in settings.items() for word in ("-c", f"{name}={value}"))
        self._control(f"--log={self.folder / 'server.log'}", f"--options={words}", "start")

    def start_recovering(self) -> None:
        """Start the server so that it accepts no connection before it is promoted."""
        signal_file = self.data / "standby.signal"
        signal_file.touch()
        if self.account:
            self.account.own(signal_file)
        words = f"-c unix_socket_directories={self.folder} -c hot_standby=off"
        log = f"--log={self.folder / 'server.log'}"
        self._control("--no-wait", log, f"--options={words} -c listen_addresses=", "start")
        until(lambda: PGconn.ping(self.url.encode()) == Ping.REJECT)

    def promote(self) -> None:
        self._control("promote")

    def kill(self) -> None:
        """Kill the postmaster, and wait until its last process is gone."""
        processes = self._signal(signal.SIGKILL)
        until(lambda: not any(Path(f"/proc/{each}").exists() for each in processes))
        (self.data / "postmaster.pid").unlink()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop every process of the server until the end of the block."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def stop(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self._control("--mode=immediate", "stop")

    def ask(self, statement: LiteralString) -> Any:
        """Return the first value of a statement, if it has one."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute(statement)
            row = found.fetchone() if found.description else None
            return row[0] if row else None

    def _signal(self, number: signal.Signals) -> list[int]:
        """Send a signal to the postmaster and its children; return all of them."""
        pid = int((self.data / "postmaster.pid").read_text().split()[0])
        processes = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
        for each in processes:
            with suppress(ProcessLookupError):
                os.kill(each, number)
        return processes

    def _control(self, *words: str) -> None:
        run_program(self.account, self.programs / "pg_ctl", f"--pgdata={self.data}", "--wait", *words)


@dataclass(frozen=True, slots=True)
class Pair:
    """A server, and its standby."""

    primary: Server
    standby: Server

    @property
    def url(self) -> str:
        """The URL of whichever accepts writes."""
        hosts = f"{self.primary.folder},{self.standby.folder}"
        options = "target_session_attrs=read-write&connect_timeout=2"
        return f"postgresql://postgres@/postgres?host={hosts}&port=5432,5432&{options}"

    def wait_for_standby(self) -> None:
        """Let every commit of the primary wait for the standby from now on."""
        self.primary.ask("alter system set synchronous_standby_names = '*'")
        self.primary.ask("select pg_reload_conf()")
        until(lambda: self.primary.ask("select sync_state = 'sync' from pg_stat_replication"))

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the process of the standby that receives."""
        receiver = self.standby.ask("select pid from pg_stat_wal_receiver")
        os.kill(receiver, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(receiver, signal.SIGCONT)

    def waiting(self) -> int:
        """Return how many commits wait for the standby."""
        return int(self.primary.ask("select count(*) from pg_stat_activity where wait_event = 'SyncRep'"))


@contextmanager
def running_server() -> Iterator[Server]:
    """Run one server until the end of the block. It keeps nothing."""
    with tempfile.TemporaryDirectory(prefix="foja-one-", dir=folder_in_memory()) as folder:
        server = _server(Path(folder, "primary"), binaries())
        if server.account:
            Path(folder).chmod(0o711)
        trust = ("--username=postgres", "--encoding=UTF8", "--locale=C", "--auth=trust")
        run_program(
            server.account, server.programs / "initdb", *trust, "--no-sync", f"--pgdata={server.data}"
        )
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def running_pair() -> Iterator[Pair]:
    """Run both servers until the end of the block. They keep nothing."""
    with running_server() as primary:
        standby = _server(primary.folder.with_name("standby"), primary.programs)
        try:
            source = (f"--dbname=host={primary.folder} user=postgres", f"--pgdata={standby.data}")
            flags = ("--write-recovery-conf", "--checkpoint=fast", "--no-sync")
            run_program(standby.account, standby.programs / "pg_basebackup", *source, *flags)
            standby.start()
            yield Pair(primary, standby)
        finally:
            standby.stop()


def _server(folder: Path, programs: Path) -> Server:
    folder.mkdir(mode=0o700)
    account = choose(folder / "data")
    if account:
        account.own(folder)
        account.reach(programs)
    return Server(folder, programs, account)


def until(condition: Any) -> None:
    """Return once the condition holds."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
