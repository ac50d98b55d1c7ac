"""A node that answers strangely: every answer is refused in bounded time, and says who gave it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Any

import pytest

from foja.engine.remote.networks import evm
from foja.engine.remote.networks.evm import Answer, EvmNode, NodeRefused, connect
from foja.errors import Unavailable
from tests.counterparties.http_server import listening

HASH = b"\7" * 32


@asynccontextmanager
async def serving(*, body: bytes = b"", status: int = 200, hangs: bool = False) -> AsyncIterator[EvmNode]:
    """Lend a client of a server that always sends the same."""
    release = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if hangs:
                release.wait(10)
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client may leave early
    with listening(server) as url:
        secret = f"{url.replace('//', '//user:secret@')}/v3/secret"
        try:
            async with connect([secret]) as [node]:
                yield node
        finally:
            release.set()


def result(value: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": value}).encode()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 200),
        (b"<html>", 502),
        (b"busy", 429),
        (b"[]", 200),
        (b"{}", 200),
        (b"[" * 100_000, 200),
        (b'{"result": "\\ud800"}', 200),
        (b"\xff", 200),
        (result(None), 200),
        (result(137), 200),
        (result("137"), 200),
        (result("0x"), 200),
        (result("0x" + "1" * 65), 200),
        (result({}), 200),
        (json.dumps({"error": {"code": -32601, "message": "no such method"}}).encode(), 200),
        (json.dumps({"error": "no"}).encode(), 400),
        (result("0x89") + b" " * evm.MAX_BYTES, 200),
    ],
)
async def test_a_strange_answer_is_an_outage(body: bytes, status: int) -> None:
    async with serving(body=body, status=status) as node:
        with pytest.raises(Unavailable, match=r"http://127\.0\.0\.1:[0-9]+ ") as refused:
            await node.chain_id()
    assert "secret" not in str(refused.value) + repr(node)


Question = Callable[[EvmNode], Awaitable[Any]]
BLOCK = {"number": "0x1", "hash": "0x" + "01" * 32, "transactions": []}
RECEIPT = {"transactionHash": "0x" + HASH.hex(), "blockHash": "0x" + "01" * 32, "blockNumber": "0x1"}
PAID = {"gasUsed": "0x5208", "effectiveGasPrice": "0x3"}
DONE = {**RECEIPT, **PAID, "status": "0x1"}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (lambda node: node.head("latest"), "0x1"),
        (lambda node: node.head("latest"), {**BLOCK, "hash": "0x01"}),
        (lambda node: node.head(1), {**BLOCK, "number": None}),
        (lambda node: node.whole_block(HASH), {**BLOCK, "transactions": None}),
        (lambda node: node.whole_block(HASH), {**BLOCK, "transactions": ["0x01"]}),
        (lambda node: node.receipt(HASH), {**RECEIPT, **PAID}),
        (lambda node: node.receipt(HASH), {**DONE, "transactionHash": "0x01"}),
        (lambda node: node.receipt(HASH), {**DONE, "transactionHash": BLOCK["hash"]}),
        (lambda node: node.receipt(HASH), []),
        (lambda node: node.send(b"", HASH), "0x" + "02" * 32),
        (lambda node: node.send(b"", HASH), None),
        (lambda node: node.accounts(), ["0x01"]),
        (lambda node: node.accounts(), None),
        (lambda node: node.sign_transaction({}), {"tx": {}}),
        (lambda node: node.sign_transaction({}), "raw"),
        (lambda node: node.raw_transaction(HASH), "0xz"),
        (lambda node: node.balance(bytes(20)), None),
    ],
)
async def test_an_answer_of_another_shape_is_an_outage(question: Question, answer: Any) -> None:
    async with serving(body=result(answer)) as node:
        with pytest.raises(Unavailable, match="cannot be read"):
            await question(node)


async def test_a_receipt_is_read() -> None:
    async with serving(body=result({**RECEIPT, **PAID, "status": "0x0"})) as node:
        found = await node.receipt(HASH)
    assert found == evm.Receipt(b"\1" * 32, 1, False, 3 * 21_000)
    async with serving(body=result({**RECEIPT, "blockHash": None})) as node:
        assert await node.receipt(HASH) is None


async def test_a_node_that_hangs_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evm, "TIMEOUT_SECONDS", 0.2)
    async with serving(hangs=True) as node:
        with pytest.raises(Unavailable, match=r"did not answer eth_chainId within 0\.2 s"):
            await node.chain_id()


async def test_the_words_of_a_node_can_be_stored_and_shown() -> None:
    text = "no\x00\x1b[2J https://user:secret@node/ " + "x" * 1000
    async with serving(body=json.dumps({"error": {"message": text}}).encode()) as node:
        sent = await node.send(b"\2", HASH)
    assert sent.detail.isprintable()
    assert "secret" not in sent.detail
    assert len(sent.detail) < 300


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:x/secret", "", "secret", "ftp://127.0.0.1/secret", "http:///secret"]
)
async def test_a_url_that_cannot_be_used_is_an_outage(url: str) -> None:
    async with connect([url]) as [node]:
        with pytest.raises(Unavailable) as refused:
            await node.chain_id()
    assert "secret" not in node.name
    assert str(refused.value)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("already known", Answer.KNOWN),  # geth, bor, erigon, reth
        ("transaction already imported", Answer.KNOWN),  # anvil
        ("AlreadyKnown", Answer.KNOWN),  # nethermind
        ("Known transaction", Answer.REFUSED),  # of no node that is still in use
        ("nonce too low: address 0x1, tx: 0 state: 1", Answer.NONCE_USED),
        ("Nonce too low", Answer.NONCE_USED),
        ("OldNonce", Answer.NONCE_USED),
        ("nonce too high", Answer.REFUSED),
        ("replacement transaction underpriced", Answer.REFUSED),
        ("insufficient funds for gas * price + value", Answer.REFUSED),
        ("unknown transaction type", Answer.REFUSED),
    ],
)
async def test_the_answers_to_a_sent_transaction_are_told_apart(text: str, answer: Answer) -> None:
    body = json.dumps({"error": {"code": -32000, "message": text}}).encode()
    async with serving(body=body) as node:
        sent = await node.send(b"\2", HASH)
        assert (sent.answer, text in sent.detail) == (answer, True)
        with pytest.raises(NodeRefused):
            await node.chain_id()
        assert await node.raw_transaction(HASH) is None
