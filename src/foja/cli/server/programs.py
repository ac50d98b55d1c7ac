"""Run pg_dump, pg_restore and psql of the embedded server, also against another server."""

from __future__ import annotations

import os
import subprocess

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from foja.embedded.postgres import binaries
from foja.errors import SetupFailed


def run_program(program: str, url: str, *arguments: str) -> None:
    """Run a program on a database and wait for it. Raise `SetupFailed` if it fails."""
    words = command(program, url, *arguments)
    done = subprocess.run(words, env=environment(url), stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SetupFailed(f"{program} failed: {done.stderr.strip()}; correct the cause and start again")


def command(program: str, url: str, *arguments: str) -> list[str]:
    """Return the command line. It shows no password: every user of the machine can read it."""
    address = make_conninfo("", **{**conninfo_to_dict(url), "password": None})
    return [str(binaries() / program), f"--dbname={address}", *arguments]


def environment(url: str) -> dict[str, str]:
    """Return the environment of a program, with the password."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    password = conninfo_to_dict(url).get("password")
    return {**kept, "PGPASSWORD": str(password)} if password else kept
