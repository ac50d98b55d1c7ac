"""The server ends quietly while clients are in the middle of a request."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import httpx

from foja.app import App
from tests.faults.servers.test_http import address_of
from tests.flow.command import FOJA

STREAM = UUID(int=0xA)
FORM, JSON, BYTES = "multipart/form-data; boundary=x", "application/json", "application/octet-stream"
PART = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf a file'
HALVES = [
    (
        f"/v1/conversations/{STREAM}/events",
        JSON,
        b'{"kind": "user_message_sent", "payload": {"content": "half',
    ),
    (f"/v1/conversations/{STREAM}/events/batch", JSON, b'[{"kind": "user_message_sent"'),
    ("/v1/documents", FORM, PART),
    ("/v1/documents", BYTES, b"half a file"),
    (f"/v1/galleries/{STREAM}/images", FORM, PART),
    ("/v1/verify", FORM, PART),
    ("/v1/verify", BYTES, b"half a bundle"),
    ("/verify", FORM, PART),
    ("/mcp", JSON, b'{"jsonrpc": "2.0"'),
    ("/login", "application/x-www-form-urlencoded", b"key="),
]


@contextlib.asynccontextmanager
async def web_server(database_url: str, home: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *FOJA, "web", "--port", "0", "--home", str(home),
        env={**os.environ, "FOJA_DATABASE_URL": database_url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def send_half(url: str, path: str, media_type: str, half: bytes) -> asyncio.StreamWriter:
    host, port = urlsplit(url).hostname, urlsplit(url).port
    _, writer = await asyncio.open_connection(host, port)
    fields = {"Host": f"{host}:{port}", "Content-Type": media_type, "Content-Length": 10_000}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    writer.write("\r\n".join(lines).encode() + half)
    await writer.drain()
    return writer


async def test_half_sent_bodies_end_without_a_traceback(app: App, database_url: str, tmp_path: Path) -> None:
    async with web_server(database_url, tmp_path / "home") as process:
        url = await address_of(process)
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            said = {"kind": "user_message_sent", "payload": {"content": "whole"}}
            answer = await client.post(f"/v1/conversations/{STREAM}/events", json=said)
            assert answer.status_code == 201, answer.text
            writers = [await send_half(url, *half) for half in HALVES]
            assert (await client.get("/healthz")).status_code == 200
            await asyncio.sleep(0.5)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            _, errors = await asyncio.wait_for(process.communicate(), 60)
        for writer in writers:
            writer.close()
    assert process.returncode == 0
    assert errors.decode() == ""
    assert time.monotonic() - began < 30, "it waited for a client"
    conversation = await app.conversations.open(STREAM)
    assert [event.payload for event in await conversation.events()] == [{"content": "whole"}]
