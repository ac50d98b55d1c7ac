"""A JSON-RPC client for EVM nodes and external signers. Answers are bounded, and checked in shape only.

A node that does not answer raises `Unavailable`; so does one whose answer has another shape. A node that
answers with an error raises `NodeRefused`, with the text of the node.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import httpx
import orjson

from foja.engine.remote.http import FAILURES, one_line, open_client, read_body, server_name
from foja.errors import Tampered, Unavailable, redact
from foja.pure.proofs.evm.block_json import data, number

TIMEOUT_SECONDS = 10.0
MAX_BYTES, MAX_BLOCK_BYTES = 1 << 20, 32 << 20
MAX_TRANSACTIONS = 100_000


class NodeRefused(Unavailable):
    """The node answered with an error."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


class Answer(StrEnum):
    """What a node says about a transaction that it was sent."""

    ACCEPTED = "accepted"
    KNOWN = "known"  # it is in the pool, or in a block
    NONCE_USED = "nonce_used"  # by this transaction or by another one
    REFUSED = "refused"


# Parts of the texts of geth, bor, erigon, nethermind, besu, reth and anvil; the codes differ between them.
_KNOWN = ("already known", "already imported", "alreadyknown")
_NONCE_USED = ("nonce too low", "oldnonce", "nonce is too low")


@dataclass(frozen=True, slots=True)
class Sent:
    """The answer to a transaction, and the node's words."""

    answer: Answer
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where a node says that a transaction is. Nothing in it is proven."""

    block_hash: bytes
    block_number: int
    succeeded: bool
    fee: int  # in wei


@dataclass(frozen=True, slots=True)
class Head:
    """A block by number, hash and base fee."""

    number: int
    hash: bytes
    base_fee: int


@dataclass(frozen=True, slots=True)
class EvmNode:
    """A node, or a signer, at one URL."""

    url: str = field(repr=False)
    http: httpx.AsyncClient = field(repr=False)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return server_name(self.url)

    async def chain_id(self) -> int:
        """Return the id of the node's chain."""
        return self._number(await self._ask("eth_chainId"))

    async def head(self, tag: int | str) -> Head | None:
        """Return the block with this number or tag (`latest`, `finalized`), or None if there is none."""
        block = await self._ask("eth_getBlockByNumber", _block(tag), False)
        if block is None:
            return None
        fields = self._object(block)
        base_fee = self._number(fields.get("baseFeePerGas") or "0x0")
        return Head(self._number(fields.get("number")), self._bytes(fields.get("hash"), 32), base_fee)

    async def whole_block(self, block_hash: bytes) -> Mapping[str, Any] | None:
        """Return a block with all its transactions, or None if the node does not have it."""
        found = await self._ask("eth_getBlockByHash", _text(block_hash), True, most=MAX_BLOCK_BYTES)
        if found is None:
            return None
        block = self._object(found)
        transactions = block.get("transactions")
        if not isinstance(transactions, list) or len(transactions) > MAX_TRANSACTIONS:
            raise self._unexpected("no list of transactions")
        for each in transactions:
            self._object(each)
        return block

    async def raw_transaction(self, transaction_hash: bytes) -> bytes | None:
        """Return the bytes of a transaction, or None if the node does not give them."""
        try:
            found = await self._ask("eth_getRawTransactionByHash", _text(transaction_hash))
        except NodeRefused:  # not every node has this method
            return None
        return self._bytes(found) if found else None

    async def receipt(self, transaction_hash: bytes) -> Receipt | None:
        """Return where a transaction is, or None if it is in no block."""
        found = await self._ask("eth_getTransactionReceipt", _text(transaction_hash))
        if found is None or self._object(found).get("blockHash") is None:
            return None
        if self._bytes(found.get("transactionHash"), 32) != transaction_hash:
            raise self._unexpected("the receipt of another transaction")
        price = self._number(found.get("effectiveGasPrice") or "0x0")
        return Receipt(
            block_hash=self._bytes(found.get("blockHash"), 32),
            block_number=self._number(found.get("blockNumber")),
            succeeded=self._number(found.get("status")) == 1,
            fee=self._number(found.get("gasUsed")) * price,
        )

    async def knows(self, transaction_hash: bytes) -> bool:
        """Return whether a transaction is in the node's pool or in a block."""
        return await self._ask("eth_getTransactionByHash", _text(transaction_hash)) is not None

    async def transaction_count(self, account: bytes, tag: int | str) -> int:
        """Return the next nonce of an account, as of a block. The pool is never asked."""
        return self._number(await self._ask("eth_getTransactionCount", _text(account), _block(tag)))

    async def balance(self, account: bytes) -> int:
        """Return the balance of an account, in wei."""
        return self._number(await self._ask("eth_getBalance", _text(account), "latest"))

    async def priority_fee(self) -> int:
        """Return the priority fee that the node suggests, in wei per unit of gas."""
        return self._number(await self._ask("eth_maxPriorityFeePerGas"))

    async def send(self, raw: bytes, transaction_hash: bytes) -> Sent:
        """Send a signed transaction, and return what the node says about it."""
        try:
            found = await self._ask("eth_sendRawTransaction", _text(raw))
        except NodeRefused as refused:
            return Sent(_meaning(refused.text), f"{self.name}: {refused.text}")
        if self._bytes(found) != transaction_hash:
            raise self._unexpected("another transaction hash")
        return Sent(Answer.ACCEPTED)

    async def accounts(self) -> Sequence[bytes]:
        """Return the accounts for which a signer signs."""
        found = await self._ask("eth_accounts")
        if not isinstance(found, list):
            raise self._unexpected("no list of accounts")
        return [self._bytes(each, 20) for each in found]

    async def sign_transaction(self, fields: Mapping[str, str]) -> bytes:
        """Return the bytes that a signer signed, unchecked. Some answer with an object that has `raw`."""
        found = await self._ask("eth_signTransaction", dict(fields))
        return self._bytes(found.get("raw") if isinstance(found, dict) else found)

    async def _ask(self, method: str, *params: Any, most: int = MAX_BYTES) -> Any:
        """Return the result of a call."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                body = await _exchange(self.http, self.url, request, most)
            answer = orjson.loads(body)  # its depth is limited, whatever Python's own limit is
        except (TimeoutError, httpx.TimeoutException):
            raise Unavailable(f"{self.name} did not answer {method} within {TIMEOUT_SECONDS:g} s") from None
        except (*FAILURES, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise Unavailable(f"{self.name} did not answer {method}: {reason}") from None
        return self._result(method, answer)

    def _result(self, method: str, answer: object) -> Any:
        if not isinstance(answer, dict):
            raise self._unexpected(f"no JSON-RPC answer to {method}")
        if error := answer.get("error"):
            text = redact(one_line(str(error.get("message") if isinstance(error, dict) else error)))
            raise NodeRefused(f"{self.name} refused {method}: {text}", text)
        if "result" not in answer:
            raise self._unexpected(f"no result of {method}")
        return answer["result"]

    def _object(self, value: object) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._unexpected("no object")
        return value

    def _number(self, value: object) -> int:
        try:
            return number(value)
        except Tampered as error:
            raise self._unexpected(str(error)) from None

    def _bytes(self, value: object, size: int | None = None) -> bytes:
        try:
            return data(value, size)
        except Tampered as error:
            raise self._unexpected(str(error)) from None

    def _unexpected(self, what: str) -> Unavailable:
        return Unavailable(f"{self.name} gave an answer that cannot be read: {what}; check its URL")


@asynccontextmanager
async def connect(urls: Sequence[str]) -> AsyncIterator[list[EvmNode]]:
    """Yield a client for each URL; their connections are closed at the end."""
    async with open_client(TIMEOUT_SECONDS) as http:
        yield [EvmNode(url, http) for url in urls]


async def _exchange(http: httpx.AsyncClient, url: str, request: Mapping[str, Any], most: int) -> bytes:
    async with http.stream("POST", url, json=request) as response:
        if (body := await read_body(response, most)) is None:
            raise ValueError(f"its answer has more than {most:,} bytes")
        if response.status_code >= 400 and not body.lstrip().startswith(b"{"):
            raise ValueError(f"HTTP status {response.status_code}")
        return body


def _meaning(text: str) -> Answer:
    folded = text.lower()
    if any(each in folded for each in _KNOWN):
        return Answer.KNOWN
    if any(each in folded for each in _NONCE_USED):
        return Answer.NONCE_USED
    return Answer.REFUSED


def _block(tag: int | str) -> str:
    return hex(tag) if isinstance(tag, int) else tag


def _text(value: bytes) -> str:
    return f"0x{value.hex()}"
