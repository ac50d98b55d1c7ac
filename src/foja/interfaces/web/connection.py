"""One HTTP connection with limits: on its head, its unread body, its time, and on how many there are.

The protocol of uvicorn has none of them. Every wait for a client ends here: for the head of
a request, for its body, for the rest of a body that was refused, and for a client that does
not read. A refused client is answered first; what it still sends is discarded for a while,
since closing at once would reset the connection and the answer would be lost.
"""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from typing import Any

import httptools
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from foja.interfaces.web.head import check_head
from foja.interfaces.web.problems import Rejected, problem

MAX_URL_BYTES = 60_000
MAX_HEAD_BYTES = 65_536
MAX_DISCARDED_BYTES = 256 * 1_048_576
HEAD_SECONDS = 10.0
BODY_SECONDS, BODY_BYTES = 30.0, 512 * 1024  # a body that is longer has this time for every part of it
DISCARD_SECONDS = 5.0
STALL_SECONDS = 30.0
SPARE_CONNECTIONS = 64  # above the limit: they are told so; more are closed without an answer
_OFFER = (b"connection", b"upgrade", b"http2-settings")  # of another protocol: a server may ignore it
log = logging.getLogger("foja.web")


class Capacity:
    """How many connections a server keeps open. It logs once when they are too many, and once after."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._full = False

    def admits(self, connections: int) -> bool:
        """Return whether a server with this many connections serves the newest."""
        if connections > self.limit and not self._full:
            self._full = True
            log.warning(
                "%d connections are open, the limit; more are refused (FOJA_MAX_CONNECTIONS, ulimit -n)",
                self.limit,
            )
        return connections <= self.limit

    def release(self, connections: int) -> None:
        """Note that a connection ended and this many are left."""
        if self._full and connections <= self.limit * 9 // 10:
            self._full = False
            log.warning("connections are accepted again; %d are open", connections)


class Stage(Enum):
    """What a connection receives."""

    IDLE = "between two requests"
    HEAD = "the head of a request"
    BODY = "the body of a request"
    REFUSED = "what is discarded"


class Connection(HttpToolsProtocol):
    """A connection that ends when its client is too slow, sends too much, or is one too many."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        capacity: Capacity,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.access_log = False  # an address may contain a secret
        self._capacity, self._admitted = capacity, True
        self._stage = Stage.IDLE
        self._head = self._pending = self._discarded = self._arrived = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._admitted = self._capacity.admits(len(self.connections))
        if len(self.connections) > self._capacity.limit + SPARE_CONNECTIONS:
            transport.abort()
        else:
            self._expect(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._expect(None)
        self._forget_writes()
        self._capacity.release(len(self.connections))

    def shutdown(self) -> None:
        """End this connection when the server stops. A body that has not arrived is not waited for."""
        if self._stage is Stage.BODY and not (self._answered() or self.cycle.response_started):
            self._refuse(
                Rejected(503, "The server is stopping.", "the rest is not waited for; send it again")
            )
            self.transport.close()
        else:
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._stage is Stage.REFUSED:
            self._discard(len(data))
            return
        if self._stage is Stage.IDLE and self._deadline is None and self._answered():
            self._expect(HEAD_SECONDS)  # bytes that begin no request
        self._pending += len(data)
        try:
            self.parser.feed_data(data)
            if self._pending > 2 * MAX_HEAD_BYTES:  # in one field that has no end yet
                raise _head_too_large()
        except httptools.HttpParserUpgrade as offer:
            self._decline(data[offer.args[0] :])
        except httptools.HttpParserError as error:
            self._refuse(error.__context__)
        except Rejected as error:
            self._refuse(error)

    def _decline(self, rest: bytes) -> None:
        """Parse the request again as if it offered no other protocol: the parser would not read its body."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._refuse(Rejected(405, "CONNECT is not supported.", "this server is not a proxy"))
            return
        head = method + b" " + self.url + b" HTTP/1.1"
        fields = [name + b": " + value for name, value in self.headers if name not in _OFFER]
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(b"\r\n".join([head, *fields, b"", rest]))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._stage = Stage.HEAD
        self._head = self._discarded = 0
        self._expect(HEAD_SECONDS)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MAX_URL_BYTES:
            raise Rejected(
                414,
                "The address is too long.",
                f"use at most {MAX_URL_BYTES:,} bytes; send the rest as a body",
            )

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._pending = 0
        self._head += len(name) + len(value) + len(b": \r\n")
        if self._head > MAX_HEAD_BYTES:
            raise _head_too_large()

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        if not self._admitted:
            raise Rejected(
                503, "Too many connections are open.", f"the limit is {self._capacity.limit}; try again later"
            )
        check_head(self.headers, self.parser.get_http_version())
        self._stage, self._arrived = Stage.BODY, 0
        self._expect(BODY_SECONDS)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._pending = 0
        self._arrived += len(body)
        if self.cycle.response_complete:
            self._discard(len(body))

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        super().on_message_complete()
        self._stage, self._pending = Stage.IDLE, 0
        self._expect(HEAD_SECONDS if self._answered() else None)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_writes()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writes()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget_writes()
        self._watch_writes()

    def _answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect(self, seconds: float | None) -> None:
        """Set how long this connection waits for what comes next; None: without end."""
        if self._deadline:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        self._deadline = None
        if self.flow.read_paused or (self._stage is Stage.BODY and self._arrived >= BODY_BYTES):
            self._arrived = 0  # it is this server that does not read, or the client is fast enough
            self._expect(BODY_SECONDS)
        elif self._stage in (Stage.IDLE, Stage.REFUSED) or (self._stage is Stage.BODY and self._answered()):
            self.transport.abort()
        else:
            self._refuse(Rejected(408, "The request did not arrive in time.", "send it faster, or in parts"))

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > MAX_DISCARDED_BYTES:
            self.transport.abort()

    def _refuse(self, reason: BaseException | None) -> None:
        """Answer with a problem document and close; only the client's last words are waited for."""
        self._stage = Stage.REFUSED
        if self.pipeline or (not self._answered() and self.cycle.response_started):
            self.transport.abort()  # another answer is being sent
            return
        if not self._answered():
            self.cycle.disconnected = True  # the application is told; what it sends is dropped
            self.cycle.message_event.set()
        self.flow.resume_reading()
        self.transport.write(_encode(reason))
        self.transport.write_eof()
        self._expect(DISCARD_SECONDS)

    def _watch_writes(self) -> None:
        """Abort if the client reads nothing of what was written for a while."""
        if self._stall is None and (unsent := self.transport.get_write_buffer_size()):
            self._stall = self.loop.call_later(STALL_SECONDS, self._check_writes, unsent)

    def _check_writes(self, before: int) -> None:
        self._forget_writes()
        if self.transport.get_write_buffer_size() == before:
            self.transport.abort()
        else:
            self._watch_writes()

    def _forget_writes(self) -> None:
        if self._stall:
            self._stall.cancel()
        self._stall = None


def _head_too_large() -> Rejected:
    return Rejected(
        431, "The headers are too large.", f"use at most {MAX_HEAD_BYTES:,} bytes for all of them"
    )


def _encode(reason: BaseException | None) -> bytes:
    """Return the whole answer that says why a request was refused."""
    if not isinstance(reason, Rejected):
        reason = Rejected(400, "The request is not valid HTTP.", "send HTTP/1.1 as RFC 9112 has it")
    answer = problem(reason.status, reason.title, str(reason))
    answer.headers["Connection"] = "close"
    lines = [name + b": " + value + b"\r\n" for name, value in answer.raw_headers]
    return b"".join([STATUS_LINE[reason.status], *lines, b"\r\n", bytes(answer.body)])
