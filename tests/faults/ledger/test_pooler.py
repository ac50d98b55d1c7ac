"""PgBouncer before PostgreSQL. Session mode works; transaction mode is refused at start, in one line."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import foja
from foja.errors import SetupFailed
from tests.counterparties.ports import free_port

pytestmark = pytest.mark.skipif(not shutil.which("pgbouncer"), reason="pgbouncer is not installed")


@contextmanager
def pooler(url: str, folder: Path, mode: str) -> Iterator[str]:
    """Run PgBouncer before the server of `url` and yield a URL that leads through it."""
    parts, place = urlsplit(url), parse_qs(urlsplit(url).query)
    port = free_port()
    user = Path(place["host"][0]).owner()  # only the owner of the embedded server reaches its socket
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host={place['host'][0]} port={place['port'][0]} user=postgres\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\n"
        f"auth_file = {folder / 'users'}\npool_mode = {mode}\nmax_client_conn = 200\n"
    )
    folder.chmod(0o755)
    command = ["pgbouncer", "-q", *(["-u", user] if os.getuid() == 0 else []), str(folder / "pgbouncer.ini")]
    with subprocess.Popen(command, stdout=sys.stderr) as process:
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}{parts.path}"
        finally:
            process.terminate()


async def answering(url: str) -> None:
    place = urlsplit(url)
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection(place.hostname, place.port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


async def test_transaction_mode_is_refused(database_url: str, tmp_path: Path) -> None:
    """The message says what to do, and nothing is started."""
    with pooler(database_url, tmp_path, "transaction") as url:
        await answering(url)
        with pytest.raises(SetupFailed, match="transaction mode"):
            async with foja.connect(database_url=url, home=tmp_path / "home"):
                pass


async def test_session_mode_works(database_url: str, tmp_path: Path) -> None:
    """Append, follow and work through PgBouncer in session mode."""
    with pooler(database_url, tmp_path, "session") as url:
        await answering(url)
        async with foja.connect(database_url=url, home=tmp_path / "home") as app:
            talk = await app.conversations.open()
            assert [(await talk.append("thinking", {"content": str(n)})).seq for n in range(3)] == [0, 1, 2]
            await app.work(until_idle=True)
