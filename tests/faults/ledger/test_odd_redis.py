"""A Redis, or a proxy before it, that answers what Redis never answers, counts as away."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.lanes.counter import Counter, RedisUnavailable
from foja.engine.ledger.live.redis_pubsub import RedisPubSub
from foja.errors import LedgerUnavailable
from tests.cases import all_cases
from tests.races.auditor import audit
from tests.races.writers import SAY, words
from tests.redis_server import RedisServer

Admin = psycopg.Connection[Any]
LATEST = 30.0  # bounds a hang, not a speed
ODD = {
    "a status": b"+OK\r\n",
    "an empty list": b"*0\r\n",
    "a list": b"*1\r\n:7\r\n",
    "a fraction": b"$3\r\n1.5\r\n",
    "a number as text": b"$1\r\n7\r\n",
    "an empty text": b"$0\r\n\r\n",
    "too large a number": b":9223372036854775808\r\n",
    "the largest number": b":9223372036854775807\r\n",
    "a very large number": b":" + b"9" * 400 + b"\r\n",
    "a negative number": b":-5\r\n",
    "no number": b":\r\n",
    "an error": b"-ERR odd\r\n",
    "another protocol": b"HTTP/1.1 200 OK\r\n\r\n",
    "a double": b",1.5\r\n",
    "bytes that are not text": b"$2\r\n\xff\xfe\r\n",
}


class OddProxy:
    """A proxy before Redis that replaces the answers to one command."""

    def __init__(self, port: int) -> None:
        self.port, self.url = port, ""
        self._command, self._answer, self._times = b"", b"", 0
        self._ends: list[StreamWriter] = []

    def replace(self, command: bytes, answer: bytes, times: int = 1) -> None:
        """Answer this to the next messages with `command`."""
        self._command, self._answer, self._times = command, answer, times

    @property
    def left(self) -> int:
        """How many answers are still to be replaced."""
        return self._times

    async def serve(self, client: StreamReader, writer: StreamWriter) -> None:
        near, far = await asyncio.open_connection("127.0.0.1", self.port)
        self._ends += [writer, far]
        back = asyncio.create_task(self._carry(near, writer))
        with contextlib.suppress(OSError):
            while data := await client.read(65536):
                if self._times and self._command in data:
                    self._times -= 1
                    writer.write(self._answer)
                else:
                    far.write(data)
        back.cancel()
        for end in (writer, far):
            end.close()

    async def close(self) -> None:
        """End every connection."""
        for end in self._ends:
            end.transport.abort()
        await asyncio.sleep(0.05)  # an aborted transport closes at the loop's next turn

    async def _carry(self, near: StreamReader, writer: StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await near.read(65536):
                writer.write(data)


@pytest.fixture
async def proxy(redis: RedisServer) -> AsyncIterator[OddProxy]:
    odd = OddProxy(redis.port)
    server = await asyncio.start_server(odd.serve, "127.0.0.1", 0)
    odd.url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
    yield odd
    server.close()
    await odd.close()


@pytest.fixture
async def app(open_app: Callable[..., App], proxy: OddProxy) -> AsyncIterator[App]:
    settings = {"lane_return_seconds": 0.1, "redis_timeout_seconds": 5.0}
    async with open_app(redis_url=proxy.url, **settings) as app:
        yield app


def lane(admin: Admin, talk: Conversation) -> str:
    [(found,)] = admin.execute("select lane from foja.entity where entity_id = %s", (talk.id,)).fetchall()
    return str(found)


async def say(talk: Conversation, count: int = 8) -> list[int]:
    async with asyncio.timeout(LATEST):
        return [
            event.seq for event in await asyncio.gather(*(talk.append(SAY, words("x")) for _ in range(count)))
        ]


@all_cases("answer", ODD.values(), ids=ODD.keys())
async def test_one_odd_answer_ends_no_lane(
    app: App, admin: Admin, proxy: OddProxy, database_url: str, answer: bytes
) -> None:
    """Every append gets its number, and the conversation returns to Redis."""
    talk = await app.conversations.open()
    numbers = await say(talk)
    assert lane(admin, talk) == "redis"
    proxy.replace(b"EVAL", answer)
    numbers += await say(talk)
    assert proxy.left == 0
    async with asyncio.timeout(LATEST):
        while lane(admin, talk) != "redis":
            await asyncio.sleep(0.05)
            numbers += await say(talk, 1)
    numbers += await say(talk)
    slots = await talk.reserve(2, ttl=60)
    for ordinal in (1, 0):
        numbers.append((await slots.fill(ordinal, SAY, words("slot"))).seq)
    assert len(numbers) == len(set(numbers))
    audit(database_url)


@pytest.mark.parametrize("answer", [b"+OK\r\n", b"*0\r\n", b":5\r\n", b"$9\r\n# Server\r\n\r\n"])
async def test_a_redis_that_does_not_say_its_run_is_away(proxy: OddProxy, answer: bytes) -> None:
    """`INFO` without `run_id` is no error of the caller; the next connection is used."""
    counter = Counter(proxy.url, 5.0)
    proxy.replace(b"INFO", answer)
    with pytest.raises(RedisUnavailable):
        await counter.connect()
    assert await counter.connect()
    await counter.close()


@pytest.mark.parametrize("answer", [b"*0\r\n", b":5\r\n"])
async def test_an_odd_answer_to_ping_means_away(app: App, proxy: OddProxy, answer: bytes) -> None:
    """A conversation that enters meanwhile is numbered by PostgreSQL."""
    proxy.replace(b"PING", answer)
    assert await say(await app.conversations.open(), 1) == [0]


async def test_a_caller_cancelled_while_connecting_leaves_no_half_connection(
    proxy: OddProxy, redis: RedisServer
) -> None:
    """The next caller connects."""
    counter = Counter(proxy.url, 5.0)
    redis.freeze()
    connecting = asyncio.create_task(counter.connect())
    await asyncio.sleep(0.2)
    connecting.cancel()
    await asyncio.gather(connecting, return_exceptions=True)
    redis.thaw()
    async with asyncio.timeout(LATEST):
        assert await counter.connect()
    await counter.close()


@pytest.mark.parametrize("answer", [b"*0\r\n", b"+OK\r\n", b":5\r\n", b"*3\r\n$7\r\nmessage\r\n:1\r\n:2\r\n"])
async def test_odd_answers_do_not_end_the_listening_for_chunks(proxy: OddProxy, answer: bytes) -> None:
    """A listener that got an odd answer fails with our error, and the next one receives."""
    pubsub = RedisPubSub(proxy.url, "odd", 5.0)
    entity, received = ("t", uuid4()), asyncio.Event()
    proxy.replace(b"SUBSCRIBE", answer)

    async def listen() -> None:
        while True:
            with contextlib.suppress(LedgerUnavailable):
                await pubsub.listen(lambda _text: received.set(), {entity}, asyncio.Event())

    listening = asyncio.create_task(listen())
    async with asyncio.timeout(LATEST):
        while not received.is_set():
            assert not listening.done()
            await pubsub.send({entity: "chunk"})
            await asyncio.sleep(0.05)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await pubsub.close()
