"""Clients that are too slow, too large, too many, or that leave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from foja.app import App
from foja.interfaces.web import connection
from foja.interfaces.web.bodies import MAX_REQUEST_BYTES
from foja.interfaces.web.endpoints.timestamps import TimestampEndpoint
from foja.interfaces.web.server import address, bind, running
from tests.cases import all_cases
from tests.faults.servers.test_http import address_of
from tests.flow.client.client import SAY, served, until

POST = b"POST /v1/conversations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with served(app) as client:
        yield client


@contextlib.asynccontextmanager
async def connected(
    client: httpx.AsyncClient, sent: bytes = b""
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection and send these bytes."""
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    try:
        writer.write(sent)
        yield reader, writer
    finally:
        writer.transport.abort()


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, Any]]:
    """Return the status and the problem document of the next answer."""
    async with asyncio.timeout(60):
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        body = await reader.readexactly(int(fields[b"content-length"]))
    return int(head.split()[1]), json.loads(body)


async def ended(reader: asyncio.StreamReader) -> bool:
    """Return whether the server closes the connection."""
    with contextlib.suppress(ConnectionResetError):
        async with asyncio.timeout(60):
            return await reader.read() == b""
    return True


@all_cases(
    ("sent", "status"),
    [
        (b"", None),
        (b"\r\n", None),
        (b"GET /heal", 408),
        (b"GET /healthz HTTP/1.1\r\nHost: local", 408),
        (POST + b"Content-Length: 50\r\n\r\n{", 408),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{", 408),
    ],
)
async def test_a_half_open_request_is_timed_out(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, sent: bytes, status: int | None
) -> None:
    """Every wait for a part of a request has an end."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(connection, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(connection, "DISCARD_SECONDS", 0.3)
    async with connected(client, sent) as (reader, _):
        if status:
            found, problem = await answer(reader)
            assert (found, problem["status"]) == (status, status)
        assert await ended(reader)


@all_cases("sent", [b"\r\n", b"GET /", POST + b"Content-Length: 5\r\n\r\n{"])
async def test_a_second_request_is_timed_out_too(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """Also on a connection that was used before."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(connection, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(connection, "DISCARD_SECONDS", 0.3)
    async with connected(client, GET) as (reader, writer):
        assert (await answer(reader))[0] == 200
        writer.write(sent)
        if sent.strip():
            assert (await answer(reader))[0] == 408
        assert await ended(reader)


async def test_a_client_that_sends_drop_by_drop_is_timed_out(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is that of the whole head, not of its last byte."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 1.0)
    async with connected(client, b"GET / HTTP/1.1\r\nHost: localhost\r\n") as (reader, writer):

        async def drip() -> None:
            while True:
                writer.write(b"X: y\r\n")
                await asyncio.sleep(0.05)

        dripping = asyncio.create_task(drip())
        assert (await answer(reader))[0] == 408
        dripping.cancel()


async def test_a_slow_answer_is_not_a_slow_client(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait of the server's own ends no connection, also with requests behind it."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(connection, "BODY_SECONDS", 1.0)
    talk = await app.conversations.open()
    await talk.append(SAY, {"content": "x"})
    waits = f"GET /v1/conversations/{talk.id}/events?after=0&wait=3 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with served(app) as client, connected(client, waits.encode() + GET) as (reader, _):
        assert (await answer(reader))[1]["events"] == []
        assert (await answer(reader))[1] == {"status": "ok"}


def request_of(size: int) -> bytes:
    """Return a request whose headers have this many bytes, with separators."""
    fixed = b"Host: localhost\r\n"
    return b"GET /healthz HTTP/1.1\r\n" + fixed + b"X: " + b"y" * (size - len(fixed) - 5) + b"\r\n\r\n"


def request_to(size: int) -> bytes:
    """Return a request whose address has this many bytes."""
    return b"GET " + b"/healthz?".ljust(size, b"y") + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"


@all_cases(
    ("sent", "status"),
    [
        (request_of(connection.MAX_HEAD_BYTES), 200),
        (request_of(connection.MAX_HEAD_BYTES + 1), 431),
        (b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n", 431),
        (b"GET /healthz HTTP/1.1\r\nX: " + b"y" * 10 * connection.MAX_HEAD_BYTES, 431),
        (request_to(connection.MAX_URL_BYTES), 200),
        (request_to(connection.MAX_URL_BYTES + 1), 414),
        (b"GET /?" + b"y" * 10 * connection.MAX_URL_BYTES, 414),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 20_000, 431),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"y" * 10 * connection.MAX_HEAD_BYTES, 431),
        (b"nothing that HTTP knows\r\n\r\n", 400),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
    ],
    ids=lambda value: f"{value[:50]!r}…{len(value)}" if isinstance(value, bytes) else str(value),
)
async def test_headers_and_addresses_have_limits(client: httpx.AsyncClient, sent: bytes, status: int) -> None:
    """Each limit at its edge; what is larger is answered, and not kept."""
    async with connected(client, sent) as (reader, _):
        found, problem = await answer(reader)
    assert (found, problem["status"]) == (status, "ok" if status == 200 else status)


async def test_endless_headers_need_no_memory(client: httpx.AsyncClient) -> None:
    """What follows a refusal is discarded, until it is too much."""
    piece, sent = b"X: " + b"y" * 65_536 + b"\r\n", 0
    async with connected(client, b"GET / HTTP/1.1\r\n") as (reader, writer):
        writer.write(2 * piece)
        assert (await answer(reader))[0] == 431
        with contextlib.suppress(ConnectionError):
            while sent < 2 * connection.MAX_DISCARDED_BYTES:
                writer.write(piece)
                await writer.drain()
                sent += len(piece)
        assert sent < connection.MAX_DISCARDED_BYTES + 16 * 1_048_576


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_of_100_mb_is_a_413(client: httpx.AsyncClient, announced: bool) -> None:
    """An ordinary client sends all of it before it reads, and still learns why it was refused."""
    size, piece = 100 * 1_000_000, b" " * 1_000_000

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(size // len(piece)):
            yield piece

    headers = {"Content-Type": "application/json"} | ({"Content-Length": str(size)} if announced else {})
    found = await client.post("/v1/conversations", content=pieces(), headers=headers)
    assert (found.status_code, found.json()["error"]) == (413, "TooLarge")
    assert (await client.get("/healthz")).status_code == 200
    exact = await client.post(
        "/v1/conversations", content=b"{}".ljust(MAX_REQUEST_BYTES), headers=headers_json()
    )
    assert exact.status_code == 201


def headers_json() -> dict[str, str]:
    return {"Content-Type": "application/json"}


async def test_clients_that_leave_are_no_errors(app: App, caplog: pytest.LogCaptureFixture) -> None:
    """A client that leaves while it sends its body leaves no traceback."""
    caplog.set_level(logging.INFO)
    async with served(app) as client:
        for sent in (b"Content-Length: 50\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"):
            async with connected(client, POST + sent) as (_, writer):
                await writer.drain()
                await asyncio.sleep(0.1)
        assert (await client.get("/healthz")).status_code == 200
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_client_that_never_reads_its_answer_is_disconnected(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer of an ordinary request has the limit of a stream, and a small rest of it too."""
    monkeypatch.setattr(connection, "STALL_SECONDS", 0.5)
    talk = await app.conversations.open()
    for _ in range(20):
        await talk.append(SAY, {"content": "x" * 900_000})
    read = f"GET /v1/conversations/{talk.id}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    async with served(app) as client:
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect((client.base_url.host, client.base_url.port))
        deaf.sendall(read)
        deaf.setblocking(False)
        await until(lambda: reset(deaf), 60)
        deaf.close()


def reset(client: socket.socket) -> bool:
    """Return whether the connection was reset; nothing is read."""
    try:
        client.send(b"\r\n")
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return False


async def test_more_connections_than_the_limit_are_refused_with_one_log_line(
    open_app: Callable[..., App], caplog: pytest.LogCaptureFixture
) -> None:
    """Those above the limit are told so, others are closed; the log has one line and one after."""
    async with (
        open_app(max_connections=5) as app,
        served(app) as client,
        contextlib.AsyncExitStack() as stack,
    ):
        idle = [await stack.enter_async_context(connected(client, b"GET /")) for _ in range(5)]
        for _ in range(3):
            async with connected(client, GET) as (reader, _):
                status, problem = await answer(reader)
                assert (status, problem["title"]) == (503, "Too many connections are open.")
        for _, writer in idle:
            writer.transport.abort()
        await until(lambda: any("again" in each.getMessage() for each in caplog.records))
        assert (await client.get("/healthz")).status_code == 200
    assert [each.getMessage().split(";")[0] for each in caplog.records if each.name == "foja.web"] == [
        "5 connections are open, the limit",
        "connections are accepted again",
    ]


async def test_a_server_at_its_limit_of_files_serves_on(database_url: str, tmp_path: Path) -> None:
    """With few files, many half-open connections cost a few lines in the log and no traceback."""
    errors = tmp_path / "errors"
    with errors.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", f'ulimit -n 400; exec "{Path(sys.executable).with_name("foja")}" "$@"', "sh",
            "web", "--port", "0", "--home", str(tmp_path / "home"),
            env={**os.environ, "FOJA_DATABASE_URL": database_url},
            stdout=asyncio.subprocess.PIPE, stderr=file,
        )  # fmt: skip
    try:
        async with httpx.AsyncClient(base_url=await address_of(process), timeout=60) as client:
            assert (await client.get("/healthz")).status_code == 200
            flood = [
                socket.create_connection((client.base_url.host, client.base_url.port)) for _ in range(700)
            ]
            assert (await client.get("/healthz")).status_code == 200  # its connection is an old one
            for each in flood:
                each.close()
            async with asyncio.timeout(60):
                while not await is_well(str(client.base_url)):
                    await asyncio.sleep(0.2)
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 30)
    lines = errors.read_text().splitlines()
    assert "Traceback" not in "\n".join(lines)
    assert 1 <= len(lines) <= 6


async def is_well(url: str) -> bool:
    """Return whether a new client is served."""
    async with httpx.AsyncClient(base_url=url, timeout=10) as fresh:
        with contextlib.suppress(httpx.TransportError):
            return (await fresh.get("/healthz")).status_code == 200
    return False


async def test_an_authority_has_the_same_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """`foja tsa serve` is served by the same connections."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 1.0)
    endpoint = TimestampEndpoint(lambda query: query, b"")
    with bind("127.0.0.1", 0, expose=False) as listener:
        async with (
            running(endpoint, listener),
            httpx.AsyncClient(base_url=address(listener)) as client,
            connected(client, b"GET /") as (reader, _),
        ):
            assert (await answer(reader))[0] == 408
            assert (await client.post("/", content=b"x" * 5_000_000)).status_code == 413


@all_cases(
    "fields",
    [b"", b"Host: localhost\r\nHost: evil.example\r\n", b"Host: localhost:1@evil.example\r\n"],
)
async def test_a_request_names_one_valid_host(client: httpx.AsyncClient, fields: bytes) -> None:
    """The first of two was believed, and `localhost:1@evil.example` was this machine."""
    async with connected(client, b"GET /v1/access/me HTTP/1.1\r\n" + fields + b"\r\n") as (reader, _):
        status, problem = await answer(reader)
        assert status == 400
        assert "host" in problem["detail"]
        assert await ended(reader)


@pytest.mark.parametrize("parts", [1, 2])
async def test_a_request_that_offers_http_2_keeps_its_body(client: httpx.AsyncClient, parts: int) -> None:
    """Java's client and `curl --http2` offer h2c with their first request: its body was lost."""
    body = json.dumps({"id": "00000000-0000-4000-8000-000000000001", "tool": 1}).encode()
    head = POST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    whole = head + b"Content-Length: %d\r\n\r\n" % len(body)
    async with connected(client, whole + body if parts == 1 else whole) as (reader, writer):
        if parts == 2:
            writer.write(body)
        status, document = await answer(reader)
        assert (status, "tool" in json.dumps(document)) == (422, True)
        writer.write(GET)
        assert (await answer(reader))[0] == 200


async def test_a_tunnel_is_refused(client: httpx.AsyncClient) -> None:
    async with connected(client, b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n") as (
        reader,
        _,
    ):
        assert (await answer(reader))[0] == 405
