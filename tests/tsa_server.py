"""A timestamp authority over real HTTP that behaves, or misbehaves, as it is told.

with running_tsa() as tsa:
    tsa.behave("hang", "garbage", "honest")    # one per request; the last one stays
    … FOJA_TSA_URLS=tsa.url, FOJA_TSA_ROOTS=a file with tsa.root …
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from foja.pure.proofs.der import integer, sequence
from foja.pure.proofs.tsa import TimestampRequest, read_request
from tests.counterparties.http_server import listening
from tests.rules.authorities import (
    CODE_SIGNING,
    TIME_STAMPING,
    Certified,
    Recipe,
    refusal,
    reply,
    root,
    signer,
)

YEAR = timedelta(days=365)
Bend = Callable[["TsaServer", Recipe], Recipe]


class TsaServer:
    """One authority, its root, what it was asked, and what it will do next."""

    def __init__(self) -> None:
        now = datetime.now(UTC)
        self.begins, self.ends = now - YEAR, now + YEAR
        self.true_root = self.made_root()
        self.signer = self.made_signer()
        self.asked = list[TimestampRequest]()
        self.requests = 0  # also those that were never answered
        self.url = ""
        self._next = ["honest"]
        self._lock = threading.Lock()
        self.released = threading.Event()

    @property
    def root(self) -> bytes:
        """The root to trust, as PEM."""
        return self.true_root.pem

    def made_root(self, name: str = "Test Root", **how: Any) -> Certified:
        """Return a root that is valid now."""
        return root(name, **{"begins": self.begins, "ends": self.ends, **how})

    def made_signer(self, issuer: Certified | None = None, **how: Any) -> Certified:
        """Return a signer that is valid now, under the true root or another."""
        return signer(issuer or self.true_root, **{"begins": self.begins, "ends": self.ends, **how})

    def behave(self, *ways: str) -> None:
        """Answer the next requests in these ways, one each; the last one stays."""
        unknown = set(ways) - set(MADE) - set(SENT)
        assert not unknown, f"no such behaviour: {unknown}"
        with self._lock:
            self._next = list(ways)

    def take(self) -> str:
        """Return the way of the next answer."""
        with self._lock:
            self.requests += 1
            return self._next.pop(0) if len(self._next) > 1 else self._next[0]

    def answer(self, query: bytes, way: str) -> bytes:
        """Return the reply to a request, in one of the ways that make a reply."""
        question = read_request(query)
        self.asked.append(question)
        recipe = Recipe(
            self.signer,
            question.imprint,
            question.algorithm or "sha256",
            question.nonce,
            gen_time=datetime.now(UTC),
            serial=len(self.asked),
        )
        return reply(MADE[way](self, recipe))


def _expired(tsa: TsaServer, recipe: Recipe) -> Recipe:
    return replace(recipe, signer=tsa.made_signer(ends=recipe.gen_time - timedelta(days=1)))


def _set_back(tsa: TsaServer, recipe: Recipe) -> Recipe:
    """A clock that was set back to when the signer was good: by its own time the token is flawless."""
    ended = recipe.gen_time - timedelta(days=1)
    return replace(recipe, signer=tsa.made_signer(ends=ended), gen_time=ended - timedelta(days=1))


def _rogue(tsa: TsaServer, recipe: Recipe) -> Recipe:
    """A whole authority of somebody else's, under the true one's names, its root brought along."""
    forged = tsa.made_root(key_ids=False)
    liar = tsa.made_signer(forged, key_ids=False)
    return replace(recipe, signer=liar, embedded=[liar, forged])


def _embedded_root(tsa: TsaServer, recipe: Recipe) -> Recipe:
    stranger = tsa.made_root("Rogue Root")
    liar = tsa.made_signer(stranger)
    return replace(recipe, signer=liar, embedded=[liar, stranger])


def _two_purposes(tsa: TsaServer, recipe: Recipe) -> Recipe:
    return replace(recipe, signer=tsa.made_signer(purposes=[TIME_STAMPING, CODE_SIGNING]))


# Replies in good form, each with one thing wrong, or nothing; not to say how exact one is may be.
MADE: dict[str, Bend] = {
    "honest": lambda tsa, r: r,
    "another digest": lambda tsa, r: replace(r, digest=bytes(len(r.digest))),
    "another nonce": lambda tsa, r: replace(r, nonce=(r.nonce or 0) + 1),
    "another algorithm": lambda tsa, r: replace(r, algorithm="sha3-256"),
    "untrusted": lambda tsa, r: replace(r, signer=tsa.made_signer(tsa.made_root("Unknown Root"))),
    "expired": _expired,
    "expired, clock set back": _set_back,
    "clock set back": lambda tsa, r: replace(r, gen_time=r.gen_time - timedelta(minutes=6)),
    "clock ahead": lambda tsa, r: replace(r, gen_time=r.gen_time + timedelta(minutes=6)),
    "inexact": lambda tsa, r: replace(r, accuracy=sequence(integer(86_400))),
    "no accuracy": lambda tsa, r: replace(r, accuracy=b""),
    "embedded rogue root": _embedded_root,
    "forged root": _rogue,
    "ESSCertID of another": lambda tsa, r: replace(r, identified=tsa.true_root),
    "purpose not critical": lambda tsa, r: replace(r, signer=tsa.made_signer(critical=False)),
    "two purposes": _two_purposes,
    "two signers": lambda tsa, r: replace(r, signers=2),
}
# Answers that are not even a reply in good form: HTTP status and body. "hang" never answers.
SENT: dict[str, tuple[int, bytes]] = {
    "refuse": (200, refusal(2, "not today")),
    "garbage": (200, b"<html>It works!</html>"),
    "empty": (200, b""),
    "cut": (200, b""),
    "too large": (200, b"0" * 1_000_000),
    "busy": (503, b"come back later"),
    "hang": (0, b""),
    "hang up": (0, b""),
}


@contextmanager
def running_tsa() -> Iterator[TsaServer]:
    """Lend an authority that listens on a free port of this machine."""
    tsa = TsaServer()
    server = _Listener(("127.0.0.1", 0), _requests(tsa))
    with listening(server) as url:
        tsa.url = f"{url}/tsr"
        try:
            yield tsa
        finally:
            tsa.released.set()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients of a test leave early."""


def _requests(tsa: TsaServer) -> type[BaseHTTPRequestHandler]:
    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["content-length"]))
            way = tsa.take()
            if way in ("hang", "hang up"):
                self._leave(way)
            elif way == "cut":
                body = tsa.answer(query, "honest")
                self._send(200, body[: len(body) // 2])
            elif way in SENT:
                self._send(*SENT[way])
            else:
                self._send(200, tsa.answer(query, way))

        def _leave(self, way: str) -> None:
            if way == "hang":
                tsa.released.wait(60)
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/timestamp-reply")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    return Requests
