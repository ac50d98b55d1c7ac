"""The client for a Rekor log: every answer is told apart, and none takes more time or memory than allowed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from foja.engine.remote.networks.rekor import MAX_BYTES, Added, Exists, Rejected, RekorClient, Slow
from foja.errors import Unavailable
from tests.counterparties.http_server import listening

pytestmark = pytest.mark.long


class Canned:
    """A server that gives one answer to everything."""

    url = ""
    status, body = 200, b""
    pause = 0.0  # seconds between two bytes

    def give(self, status: int, body: bytes, pause: float = 0.0) -> None:
        self.status, self.body, self.pause = status, body, pause


@pytest.fixture
def server() -> Iterator[Canned]:
    canned, ended = Canned(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(canned.status)
            self.send_header("location", "http://127.0.0.1:1/")
            self.end_headers()
            if not canned.pause:
                self.wfile.write(canned.body)
            for byte in canned.body if canned.pause else b"":
                if ended.wait(canned.pause):
                    return
                self.wfile.write(bytes([byte]))

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.handle_error = lambda *_: None  # type: ignore[method-assign]
    with listening(http) as canned.url:
        yield canned
        ended.set()


def message(text: str) -> bytes:
    return json.dumps({"code": 6, "message": text}).encode()


async def test_each_answer_is_told_apart(server: Canned) -> None:
    client = RekorClient(server.url + "/")
    answers = [
        (201, b"{}", Added(b"{}")),
        (200, b"{}", Added(b"{}")),
        (409, message("an equivalent entry already exists with index 203"), Exists(203)),
        (409, b"exists, index 0", Exists(0)),
        (409, message("exists with index -1"), Exists(None)),
        (409, message("exists with index 12345678901234567890"), Exists(None)),
        (409, b"\xff\x00", Exists(None)),
    ]
    for status, body, expected in answers:
        server.give(status, body)
        assert await client.add(b"{}") == expected
    for status in (400, 413, 422):
        server.give(status, message("bad\n\x1b[31m signature" + "x" * 1000))
        refused = await client.add(b"{}")
        assert isinstance(refused, Rejected)
        assert f"HTTP status {status}): bad [31m signature" in refused.detail
        assert len(refused.detail) < 400
    for status in (302, 401, 403, 404, 429, 500, 503):
        server.give(status, b"busy")
        with pytest.raises(Unavailable, match=str(status)):
            await client.add(b"{}")


async def test_files_of_the_log(server: Canned) -> None:
    client = RekorClient("http://127.0.0.1:1", server.url)
    server.give(200, b"tile")
    assert await client.read("tile/0/000") == b"tile"
    server.give(404, b"")
    assert await client.read("tile/0/000") is None
    server.give(503, b"")
    with pytest.raises(Unavailable, match="503"):
        await client.read("tile/0/000")


async def test_no_answer_is_larger_than_allowed(server: Canned) -> None:
    client = RekorClient(server.url)
    server.give(200, bytes(MAX_BYTES))
    assert await client.read("checkpoint") == bytes(MAX_BYTES)
    server.give(200, bytes(MAX_BYTES + 1))
    for attempt in (client.read("checkpoint"), client.add(b"{}")):
        with pytest.raises(Unavailable, match="more than"):
            await attempt


async def test_no_answer_takes_longer_than_allowed(server: Canned) -> None:
    """Also one that sends a byte now and then."""
    client = RekorClient(server.url, timeout_seconds=0.5)
    server.give(200, bytes(1000), pause=0.1)
    began = time.monotonic()
    assert isinstance(await client.add(b"{}"), Slow)
    with pytest.raises(Unavailable, match="cannot read checkpoint"):
        await client.read("checkpoint")
    assert time.monotonic() - began < 5


async def test_secrets_of_the_url_are_not_shown() -> None:
    with pytest.raises(Unavailable) as error:
        await RekorClient("http://user:secret@127.0.0.1:1").add(b"{}")
    assert "secret" not in str(error.value)
