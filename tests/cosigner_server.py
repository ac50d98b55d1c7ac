"""A cosigner over real HTTP that behaves, or misbehaves, as it is told.

with running_cosigner(folder, app.signer.verifier()) as cosigner:
    cosigner.behave("hang", "honest")    # one per request; the last one stays
    … FOJA_COSIGNERS=cosigner.setting …
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from foja.engine.embedded.cosigner import CosignerAnswer, LocalCosigner, own_signer
from foja.pure.core.note import Verifier, split_note
from foja.pure.proofs.cosignature import CosignatureAlgorithm, CosignerSigner, parse_request
from tests.counterparties.http_server import listening

LATE_SECONDS = 0.7
WAYS = {
    "honest",
    "hang",
    "late",
    "error",
    "refusal",
    "garbage",
    "huge",
    "other key",
    "other text",
    "wrong time",
    "empty line",
    "drop",
}


class CosignerServer:
    """A cosigner, what it was asked, and what it will do next."""

    def __init__(self, home: Path, algorithm: CosignatureAlgorithm | None) -> None:
        self.signer = own_signer(home, home.name, algorithm)
        self.url = ""
        self.asked = list[bytes]()
        self.released = threading.Event()
        self.service: LocalCosigner | None = None  # None: nothing is signed honestly
        self._next = ["honest"]
        self._lock = threading.Lock()

    @property
    def vkey(self) -> str:
        return self.signer.key().vkey()

    @property
    def setting(self) -> str:
        """The part of FOJA_COSIGNERS about this one."""
        return f"{self.url} {self.vkey}"

    def behave(self, *ways: str) -> None:
        """Answer the next requests in these ways, one each; the last one stays."""
        assert WAYS.issuperset(ways)
        self._next = [*ways]

    def reply(self, body: bytes) -> CosignerAnswer | None:
        """Return the answer, or None to end the connection without one."""
        with self._lock:
            self.asked.append(body)
            way = self._next.pop(0) if len(self._next) > 1 else self._next[0]
            if way == "hang":
                self.released.wait(30)
                return None
            assert self.service
            if way == "late":
                self.released.wait(LATE_SECONDS)
            if way in ("honest", "late", "drop"):
                answer = self.service.reply(body)
                return None if way == "drop" else answer
        return self._bent(way, body)

    def _bent(self, way: str, body: bytes) -> CosignerAnswer:
        text, now = split_note(parse_request(body).note)[0], int(time.time())
        line = self.signer.cosign(text, now)
        lines = {
            "garbage": "all is well\n",
            "huge": "x" * 100_000,
            "other key": CosignerSigner(self.signer.name, bytes(32)).cosign(text, now),
            "other text": self.signer.cosign(text.replace("\n", "/fork\n", 1), now),
            "wrong time": self.signer.cosign(text, now - 3600),
            "empty line": f"\n{line}",
        }
        statuses = {"error": 500, "refusal": 403}
        return CosignerAnswer(statuses.get(way, 200), lines.get(way, "no\x00\x1b[31m thanks\n"))


@contextmanager
def running_cosigner(
    home: Path, *logs: Verifier, algorithm: CosignatureAlgorithm | None = None
) -> Iterator[CosignerServer]:
    """Yield a cosigner that signs for these logs."""
    server = CosignerServer(home, algorithm)
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http.daemon_threads = True
    with LocalCosigner.opened(home, logs) as server.service, listening(http) as server.url:
        try:
            yield server
        finally:
            server.released.set()


def _handler(server: CosignerServer) -> type[BaseHTTPRequestHandler]:
    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            assert self.path == "/add-checkpoint"
            answer = server.reply(self.rfile.read(int(self.headers["content-length"])))
            if answer is None:
                self.close_connection = True
                return
            data = answer.text.encode()
            head = [f"HTTP/1.1 {answer.status} -", f"content-type: {answer.media_type}"]
            head.append(f"content-length: {len(data)}")
            self.wfile.write("\r\n".join([*head, "", ""]).encode() + data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Log nothing."""

    return Requests
