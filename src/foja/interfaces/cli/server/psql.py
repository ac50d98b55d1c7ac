"""`foja psql`: open psql on the database of the installation."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from argparse import Namespace

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from foja.interfaces.cli.installation import open_database
from foja.interfaces.cli.server.programs import command, environment


async def psql(arguments: Namespace) -> int:
    """Run psql and return its exit code. Ctrl-C is left to it."""
    words = [f"--command={each}" for each in arguments.command] + arguments.arguments
    async with open_database(arguments) as url:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return await asyncio.to_thread(_run, url, arguments.role, words)
        finally:
            signal.signal(signal.SIGINT, before)


def _run(url: str, role: str | None, words: list[str]) -> int:
    env = environment(url, role)
    if role:  # the options of the address would override those of the environment
        url = make_conninfo("", **{**conninfo_to_dict(url), "options": None})
    return subprocess.run(command("psql", url, *words), env=env, check=False).returncode
