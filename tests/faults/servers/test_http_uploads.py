"""Uploads when clients leave, when the disk or the database fails, and when the server is terminated."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

from foja.app import App
from foja.domains.documents.service import Documents
from foja.errors import Unavailable
from foja.interfaces.web.transfer.source import BodySource
from tests.cases import all_cases
from tests.faults.servers.test_http import address_of
from tests.faults.servers.test_http_limits import answer, connected
from tests.flow.client.client import served, until

CHUNK = {"Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"}
POST = b"POST /v1/documents?name=x HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"


async def test_a_client_that_leaves_midway_leaves_nothing(app: App) -> None:
    """The thread that reads its body ends, and neither an object nor an event is there."""
    async with served(app) as client:
        async with connected(client, POST + b"Content-Length: 5000000\r\n\r\n" + b"x" * 2_000_000) as (
            _,
            writer,
        ):
            await writer.drain()
        partial = app.settings.home / "store" / ".partial"
        await until(lambda: not partial.exists() or not [*partial.iterdir()], 60)
        assert (await client.post("/v1/documents", content=b"next")).status_code == 201
    assert len(await app.documents.list()) == 1


async def test_a_store_that_fails_ends_the_request_and_the_reader(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not saved: the client reads 503 although it was still sending, and sending again works."""

    def fail(self: BodySource, size: int = -1, /) -> bytes:
        raise OSError(28, "No space left on device")

    async with served(app) as client:
        with monkeypatch.context() as patch:
            patch.setattr(BodySource, "read", fail)
            refused = await client.post("/v1/documents", content=b"x" * 3_000_000)
        assert (refused.status_code, refused.json()["error"]) == (503, "Unavailable")
        assert (await client.post("/v1/documents", content=b"x" * 3_000_000)).status_code == 201


async def test_an_upload_that_could_not_be_used_is_used_later(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All bytes saved, but not the document: asking for the offset makes it, once."""
    add = Documents.add

    async def fail(*given: object, **named: object) -> None:
        raise Unavailable("the database is away; try again")

    async def saved_and_lost(*given: object, **named: object) -> None:
        await add(*given, **named)  # type: ignore[arg-type]
        raise Unavailable("the answer was lost; try again")

    async with served(app) as client:
        made = await client.post("/v1/uploads", headers={"Tus-Resumable": "1.0.0", "Upload-Length": "4"})
        url = made.headers["location"]
        with monkeypatch.context() as patch:
            patch.setattr(Documents, "add", fail)
            sent = await client.patch(url, content=b"data", headers={**CHUNK, "Upload-Offset": "0"})
            assert sent.status_code == 503
            patch.setattr(Documents, "add", saved_and_lost)
            assert (await client.head(url, headers={"Tus-Resumable": "1.0.0"})).status_code == 503
        found = (await client.get(url)).json()
    assert found["document"]["sha256"] == hashlib.sha256(b"data").hexdigest()
    assert len(await app.documents.list()) == 1


SMUGGLED = b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"


@all_cases(
    "head",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED,
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + SMUGGLED,
        b"Transfer-Encoding: xchunked\r\n\r\n" + SMUGGLED,
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
        b"Content-Length: +5\r\n\r\nhello" + SMUGGLED,
        b"Content-Length: 0x5\r\n\r\nhello" + SMUGGLED,
    ],
)
async def test_two_lengths_are_one_refusal(app: App, head: bytes) -> None:
    """No request hides in the body of another: what follows a doubtful length is never answered."""
    async with served(app) as client, connected(client, POST + head) as (reader, _):
        status, problem = await answer(reader)
        assert (status, problem["status"]) == (400, 400)
        assert b"HTTP/1.1" not in await reader.read()
    assert not await app.documents.list()


@all_cases(
    "path",
    [
        "/v1/uploads/../../../../etc/passwd",
        "/v1/uploads/%2e%2e%2f%2e%2e%2fkeys",
        "/v1/uploads/..%5c..%5ckeys",
        "/v1/log/1/tile/../checkpoint",
        "/v1/log/1/tile/0/%2e%2e/%2e%2e/checkpoint",
        "/v1/log/1/tile/entries/../../../../keys/log.key",
        "/v1/documents/../../etc/passwd",
        "/v1/documents/%00/bundle",
        "/v1/products/x/images/y/variants/..%2f..%2fstore",
        "//v1/uploads",
        "/static/..%2f..%2fapp.py",
    ],
)
async def test_no_path_leads_out(app: App, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    async with served(app) as client, connected(client, request) as (reader, _):
        assert (await answer(reader))[0] in (404, 405, 422)


async def test_a_terminated_server_keeps_what_arrived(home: Path, database_url: str) -> None:
    """SIGTERM with an upload and streams: out soon, and the upload continues where it was."""
    environment = {**os.environ, "FOJA_HOME": str(home), "FOJA_DATABASE_URL": database_url}
    data = os.urandom(3_000_000)
    process = await _server(environment)
    try:
        async with httpx.AsyncClient(base_url=await address_of(process), timeout=60) as client:
            headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(len(data))}
            url = (await client.post("/v1/uploads", headers=headers)).headers["location"]
            arrived = asyncio.Event()

            async def slowly() -> AsyncIterator[bytes]:
                yield data[:1_000_000]
                arrived.set()
                await asyncio.sleep(600)

            sending = asyncio.create_task(
                client.patch(url, content=slowly(), headers={**CHUNK, "Upload-Offset": "0"})
            )
            await arrived.wait()
            part = home / "uploads" / url.rpartition("/")[2] / "data"
            await until(lambda: part.stat().st_size == 1_000_000, 60)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 60) == 0, "it waited for the client"
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        process = await _server(environment)
        async with httpx.AsyncClient(base_url=await address_of(process), timeout=60) as client:
            offset = int((await client.head(url, headers=headers)).headers["upload-offset"])
            assert offset == 1_000_000
            more = {**CHUNK, "Upload-Offset": str(offset)}
            assert (await client.patch(url, content=data[offset:], headers=more)).status_code == 204
            found = (await client.get(url)).json()["document"]
        assert found["sha256"] == hashlib.sha256(data).hexdigest()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _server(environment: dict[str, str]) -> asyncio.subprocess.Process:
    code = "import sys; from foja.interfaces.cli import main; sys.exit(main())"
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, "web", "--port", "0"), env=environment, stdout=asyncio.subprocess.PIPE
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_the_limit_of_parts_holds_for_many(open_app: Callable[..., App]) -> None:
    async with open_app(upload_space_mb=1) as app, served(app) as client:
        headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "300000"}
        answers = [await client.post("/v1/uploads", headers=headers) for _ in range(5)]
        assert [each.status_code for each in answers] == [201, 201, 201, 429, 429]
        freed = await client.delete(answers[0].headers["location"], headers=headers)
        assert freed.status_code == 204
        assert (await client.post("/v1/uploads", headers=headers)).status_code == 201
