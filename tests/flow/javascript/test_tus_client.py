"""The real tus client uploads through cuts of its connection."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from foja.app import App
from tests.counterparties.npm import installed
from tests.flow.client.client import served

SCRIPT = Path(__file__).with_name("tus_client.cjs")
SIZE, CHUNK, CUTS = 6_000_000, 1_500_000, 3


@contextlib.asynccontextmanager
async def cutting(port: int, every: int, cuts: list[int]) -> AsyncIterator[int]:
    """Yield the port of a proxy that drops its connection whenever `every` bytes went up, a few times."""

    async def carry(reader: StreamReader, writer: StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
        back = asyncio.create_task(_pump(server_reader, writer))
        sent = 0
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                server_writer.write(data)
                await server_writer.drain()
                sent += len(data)
                if sent > every and len(cuts) < CUTS:
                    cuts.append(sent)
                    break
        back.cancel()
        for each in (server_writer, writer):
            each.transport.abort()

    proxy = await asyncio.start_server(carry, "127.0.0.1", 0)
    async with proxy:
        yield proxy.sockets[0].getsockname()[1]


async def _pump(reader: StreamReader, writer: StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()


@pytest.mark.long
async def test_the_real_client_uploads_through_three_cuts(app: App, tmp_path: Path) -> None:
    folder, data = installed("tus-js-client"), os.urandom(SIZE)
    (tmp_path / "large.bin").write_bytes(data)
    cuts: list[int] = []
    async with served(app) as client, cutting(client.base_url.port or 0, 400_000, cuts) as port:
        given = {"file": str(tmp_path / "large.bin"), "endpoint": f"http://127.0.0.1:{port}/v1/uploads"}
        process = await asyncio.create_subprocess_exec(
            *("node", str(SCRIPT), json.dumps({**given, "chunk": CHUNK})),
            env={**os.environ, "NODE_PATH": str(folder / "node_modules")},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 240)
        assert process.returncode == 0, err.decode()
        result: dict[str, Any] = json.loads(out)
        token = result["url"].rpartition("/")[2]
        found = (await client.get(f"/v1/uploads/{token}")).json()
    assert len(cuts) == CUTS
    assert result["retries"] >= CUTS
    assert found["document"]["sha256"] == hashlib.sha256(data).hexdigest()
    view = await app.documents.view(found["document"]["id"])
    assert (view.name, view.required_evidence) == ("large.bin", ("tsa",))
