"""message-db: its SQL is installed from npm at run time and not stored in this repository."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from uuid import uuid4

from psycopg import AsyncConnection

from bench.contenders.connections import Connection, connect, disconnect, execute, fetch, query
from bench.contenders.payloads import MESSAGE
from bench.database import BenchDatabase
from bench.harness import Role

MESSAGE_DB = "message-db"
PACKAGE, VERSION = "@eventide/message-db", "1.3.1"
PEERS = Path(__file__).parent.parent / ".peers"
# Roles, privileges and pgcrypto are not loaded: PostgreSQL has gen_random_uuid() since 13.
PARTS = ("schema", "tables", "types", "functions", "indexes")


@cache
def find_scripts() -> Path | None:
    """Return the folder of its scripts, installed on first use; None if npm fails."""
    scripts = PEERS / "node_modules" / PACKAGE / "database"
    if not scripts.exists() and (npm := shutil.which("npm")):
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(PEERS), f"{PACKAGE}@{VERSION}"]
        PEERS.mkdir(exist_ok=True)
        try:
            subprocess.run(command, capture_output=True, timeout=120, check=True)
        except (subprocess.SubprocessError, OSError):
            return None
    return scripts if scripts.exists() else None


class MessageDb:
    """Streams of one category, whose writers wait for each other, or one category per stream."""

    role: Role = "peer"
    blocking = False

    def __init__(self, scripts: Path, *, one_category: bool) -> None:
        self.name = MESSAGE_DB if one_category else f"{MESSAGE_DB}, one category per stream"
        self.note = (
            "one category: writers wait for each other"
            if one_category
            else "a reader of all categories can lose events"
        )
        self.lossless = one_category
        self._scripts, self._url = scripts, ""
        self._names: list[str] = []
        self._connections: list[Connection] = []

    async def create(self, database: BenchDatabase, streams: int) -> None:
        self._url = database.url
        numbers = range(streams)
        self._names = [f"conversation{'' if self.lossless else n}-{uuid4()}" for n in numbers]
        await execute(database.url, "trust_message_db")
        async with await AsyncConnection.connect(database.url) as connection:
            for part in PARTS:
                for script in sorted((self._scripts / part).glob("*.sql")):
                    await connection.execute(script.read_bytes())
        await self.open(1)
        async with self._connections[0].pipeline():
            for n in numbers:
                await self.append(0, 0, n)
        await self.close()

    async def open(self, callers: int) -> None:
        self._connections = await connect(self._url, callers)

    async def append(self, caller: int, call: int, stream: int) -> None:
        values = (str(uuid4()), self._names[stream], MESSAGE.kind, MESSAGE.json(call))
        await self._connections[caller].execute(query("write_message"), values, prepare=True)

    async def append_list(self, caller: int, call: int, stream: int, size: int) -> None:
        raise NotImplementedError("message-db writes one message per call")

    async def close(self) -> None:
        await disconnect(self._connections)

    async def count(self) -> int:
        return int((await fetch(self._url, "count_messages"))[0][0])

    async def read_after(self, last: int, limit: int) -> list[int]:
        """Return the positions that its reader finds: of the category, or of all."""
        name = "tail_category" if self.lossless else "tail_messages"
        rows = await self._connections[-1].execute(query(name), (last + 1, limit), prepare=True)
        return [row[0] for row in await rows.fetchall()]
