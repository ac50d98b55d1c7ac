"""`foja psql`: open psql on the database of the installation."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from argparse import Namespace

from foja.cli.installation import open_database
from foja.cli.server.programs import command, environment


async def psql(arguments: Namespace) -> int:
    """Run psql as the administrator and return its exit code. Ctrl-C is left to it."""
    async with open_database(arguments) as url:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return await asyncio.to_thread(_run, url, arguments.arguments)
        finally:
            signal.signal(signal.SIGINT, before)


def _run(url: str, words: list[str]) -> int:
    return subprocess.run(command("psql", url, *words), env=environment(url), check=False).returncode
