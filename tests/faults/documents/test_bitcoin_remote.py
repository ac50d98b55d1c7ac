"""Calendars and sources of headers that hang, drip, flood, or answer something else."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from foja.engine.anchors.bitcoin.headers import Sources
from foja.engine.remote.http import certificates
from foja.engine.remote.networks.bitcoin import HeaderSource, header_sources
from foja.engine.remote.networks.calendar import MAX_BYTES, Calendar, NoTimestamp, Trouble, calendars
from foja.errors import Unavailable

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served(script: Script) -> AsyncIterator[str]:
    """Lend a server that does what the script says with every connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def answering(body: bytes, status: str = "200 OK", *, more: str = "") -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status}\r\n{more}content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    return script


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
    for _ in range(1000):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
    while True:
        writer.write(bytes(65536))
        await writer.drain()


async def asked(script: Script, seconds: float = 60) -> tuple[bytes | NoTimestamp, bytes | NoTimestamp]:
    """Return what a calendar answers to a root and to a question within these seconds."""
    async with served(script) as url, calendars({"it": url}, seconds) as found:
        calendar: Calendar = found["it"]
        async with asyncio.timeout(120):
            return await calendar.submit(bytes(32)), await calendar.timestamp(bytes(32))


@pytest.mark.parametrize("script", [silent, dripping])
async def test_a_calendar_that_hangs_is_away_after_its_time(script: Script) -> None:
    for answer in await asked(script, 0.4):
        assert isinstance(answer, NoTimestamp)
        assert (answer.trouble, "within 0.4 seconds" in answer.detail) == (Trouble.AWAY, True)


async def test_a_calendar_that_floods_is_cut_off() -> None:
    for answer in await asked(endless):
        assert isinstance(answer, NoTimestamp)
        assert answer.trouble is Trouble.TOO_LARGE
    assert await asked(answering(bytes(MAX_BYTES))) == (bytes(MAX_BYTES),) * 2


@pytest.mark.parametrize(
    ("status", "submitted", "later"),
    [
        ("404 Not Found", Trouble.REFUSED, Trouble.PENDING),
        ("410 Gone", Trouble.EXPIRED, Trouble.EXPIRED),
        ("400 Bad Request", Trouble.REFUSED, Trouble.REFUSED),
        ("429 Too Many Requests", Trouble.AWAY, Trouble.AWAY),
        ("503 Service Unavailable", Trouble.AWAY, Trouble.AWAY),
        ("204 No Content", Trouble.REFUSED, Trouble.REFUSED),
    ],
)
async def test_every_status_has_a_meaning(status: str, submitted: Trouble, later: Trouble) -> None:
    first, second = await asked(answering(b"", status))
    assert isinstance(first, NoTimestamp)
    assert isinstance(second, NoTimestamp)
    assert (first.trouble, second.trouble) == (submitted, later)


async def test_a_redirect_is_not_followed() -> None:
    visits = list[bytes]()

    async def stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.append(await reader.readuntil(b"\r\n"))

    async with served(stranger) as elsewhere:
        answers = await asked(answering(b"", "302 Found", more=f"location: {elsewhere}/digest\r\n"))
    assert visits == []
    assert {each.trouble for each in answers if isinstance(each, NoTimestamp)} == {Trouble.REFUSED}


@asynccontextmanager
async def sources(script: Script) -> AsyncIterator[list[HeaderSource]]:
    """Lend a node and a server of blocks with the same answer to everything."""
    async with served(script) as url, header_sources((url,), (url,)) as found:
        yield found


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"-1",
        b"\xff\xfe",
        b"1" * 2000,
        json.dumps({"result": None, "error": {"code": -28, "message": "Loading block index"}}).encode(),
        json.dumps({"result": "zz" * 80, "error": None}).encode(),
        json.dumps({"result": "00" * 79, "error": None}).encode(),
        json.dumps({"result": True, "error": None}).encode(),
        json.dumps({"result": -1, "error": None}).encode(),
        json.dumps([1]).encode(),
    ],
    ids=range(11),
)
async def test_what_is_no_height_and_no_header_is_unavailable(body: bytes) -> None:
    async with sources(answering(body)) as found:
        for each in found:
            with pytest.raises(Unavailable):
                await each.height()
            with pytest.raises(Unavailable):
                await each.header(1)


async def test_a_source_that_is_down_or_floods_is_unavailable() -> None:
    async with (
        served(endless) as url,
        header_sources((url, "http://127.0.0.1:1"), (url, "nonsense://")) as found,
    ):
        for each in found:
            with pytest.raises(Unavailable):
                await each.height()


async def test_no_source_is_no_header_and_passwords_are_not_shown() -> None:
    with pytest.raises(Unavailable, match="0 of 2 sources"):
        await Sources("main").chain([1])
    with pytest.raises(Unavailable) as refused:
        await Sources("main", ("http://user:hunter2@127.0.0.1:1",)).chain([1])
    assert "hunter2" not in str(refused.value)


async def test_connections_read_the_certificates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, read = ssl.create_default_context, list[object]()

    def counted(*places: Any, **options: Any) -> ssl.SSLContext:
        read.append(places)
        return made(*places, **options)

    certificates.cache_clear()
    monkeypatch.setattr(ssl, "create_default_context", counted)
    for _ in range(3):
        async with calendars({"it": "https://127.0.0.1:1"}, 1) as found:
            assert isinstance(await found["it"].submit(bytes(32)), NoTimestamp)
    assert len(read) == 1
