"""A calendar on the library of OpenTimestamps; the real `ots` client can stamp, upgrade and verify at it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentimestamps.bitcoin import make_timestamp_from_block
from opentimestamps.core.notary import BitcoinBlockHeaderAttestation, PendingAttestation
from opentimestamps.core.op import OpAppend, OpSHA256
from opentimestamps.core.serialize import BytesSerializationContext
from opentimestamps.core.timestamp import Timestamp, make_merkle_tree

from tests.counterparties.bitcoin_node import BitcoinNode
from tests.counterparties.http_server import listening


@dataclass
class Calendar:
    """What it has promised, what it has in blocks, and how it misbehaves when it is told to."""

    url: str = ""
    named: str | None = None  # the address in its promises; None: its own
    promised: dict[bytes, Timestamp] = field(default_factory=dict)
    in_blocks: dict[bytes, Timestamp] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    answer: bytes | None = None  # sent instead of any other answer
    status: int | None = None  # sent instead of any other status
    lose_before: int = 0  # so many requests end without an answer, before anything is stored
    lose_after: int = 0  # so many requests end without an answer, after it was stored

    def submit(self, digest: bytes) -> bytes:
        """Promise to put a digest into a block."""
        stamp = Timestamp(digest)
        commitment = stamp.ops.add(OpAppend(os.urandom(16))).ops.add(OpSHA256())
        commitment.attestations.add(PendingAttestation(self.named or self.url))
        self.promised[commitment.msg] = Timestamp(commitment.msg)
        return encode(stamp)

    def anchor(self, node: BitcoinNode) -> int:
        """Put all promises into the next block; return its height."""
        stamps = list(self.promised.values())
        tip = make_merkle_tree(stamps)
        block, height = node.mine(tip.msg)
        tip.merge(make_timestamp_from_block(tip.msg, block, height))
        self.in_blocks.update({stamp.msg: stamp for stamp in stamps})
        return height

    def lie(self, height: int) -> None:
        """Claim that the block at a height contains every promise."""
        for message in self.promised:
            stamp = Timestamp(message)
            stamp.ops.add(OpSHA256()).attestations.add(BitcoinBlockHeaderAttestation(height))
            self.in_blocks[message] = stamp

    def forget_blocks(self) -> None:
        """Anchor everything again: the block was lost in a reorganisation."""
        self.in_blocks.clear()
        self.promised = {message: Timestamp(message) for message in self.promised}


def encode(stamp: Timestamp) -> bytes:
    context = BytesSerializationContext()
    stamp.serialize(context)
    data: bytes = context.getbytes()
    return data


def _handler(calendar: Calendar) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            calendar.asked.append(("POST", self.path))
            if self._is_lost("lose_before"):
                return
            found = calendar.submit(body) if self.path == "/digest" and len(body) <= 64 else None
            if not self._is_lost("lose_after"):
                self._reply(found)

        def do_GET(self) -> None:
            calendar.asked.append(("GET", self.path))
            if self._is_lost("lose_before"):
                return
            if self.path == "/":
                self._reply(b"a calendar")
                return
            message = bytes.fromhex(self.path.removeprefix("/timestamp/"))
            stamp = calendar.in_blocks.get(message)
            self._reply(encode(stamp) if stamp else None)

        def _is_lost(self, kind: str) -> bool:
            left = getattr(calendar, kind)
            if left:
                setattr(calendar, kind, left - 1)
                self.close_connection = True
            return bool(left)

        def _reply(self, found: bytes | None) -> None:
            status = calendar.status or (200 if found is not None or calendar.answer is not None else 404)
            body = calendar.answer if calendar.answer is not None else found or b"Pending confirmation"
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("location", calendar.named or "/")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextmanager
def ots_calendar(calendar: Calendar | None = None, port: int = 0) -> Iterator[Calendar]:
    """Lend a running calendar; the same one can be started again on its old port."""
    found = calendar or Calendar()
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(found))
    with listening(server) as found.url:
        yield found
