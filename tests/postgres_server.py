"""Where test servers keep their data, and a PostgreSQL of another version than the embedded one."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from foja.engine.embedded.postgres import PostgresServer
from foja.engine.embedded.postgres.account import Account, choose

MEMORY = Path("/dev/shm")
ROOM = 2 << 30  # for the servers of all test processes


def folder_in_memory() -> Path | None:
    """Return a folder in memory with enough room, or None.

    There PostgreSQL copies a template with a tenth of the CPU time that the copy costs on a disk.
    """
    usable = os.access(MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(MEMORY).free > ROOM
    return MEMORY if usable else None


@contextmanager
def running_postgres(programs: Path, options: Mapping[str, str]) -> Iterator[PostgresServer]:
    """Run a server of these programs until the end of the block; it keeps nothing."""
    with tempfile.TemporaryDirectory(prefix="foja-pg-", dir=folder_in_memory()) as folder:
        data = Path(folder) / "data"
        data.mkdir(mode=0o700)
        account = choose(data)
        if account:
            account.own(data)
            account.own(data.parent)
            account.reach(programs)
        trust = ("--username=postgres", "--encoding=UTF8", "--locale=C", "--auth=trust")
        run_program(account, programs / "initdb", *trust, f"--pgdata={data}")
        settings = {"listen_addresses": "", "unix_socket_directories": folder, **options}
        words = shlex.join(word for name, value in settings.items() for word in ("-c", f"{name}={value}"))
        control = (programs / "pg_ctl", f"--pgdata={data}", "--wait")
        run_program(account, *control, f"--log={data / 'server.log'}", f"--options={words}", "start")
        try:
            pid = int((data / "postmaster.pid").read_text().split()[0])
            yield PostgresServer(f"postgresql://postgres@/postgres?host={folder}", data, pid)
        finally:
            run_program(account, *control, "--mode=immediate", "stop")


def run_program(account: Account | None, *words: str | Path) -> None:
    """Run one of the programs as the account; fail with what it says."""
    done = subprocess.run(
        words,
        cwd="/",
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # the server keeps it open for as long as it lives
        stderr=subprocess.PIPE if "start" not in words else subprocess.DEVNULL,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{words[0]}: {done.stderr}"
