"""Numbers from Redis: one connection, and whatever is asked at the same moment in one round trip.

A dead Redis costs one caller its timeout. From then on everybody is told at once, and a task of its
own tries to connect again.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from redis.asyncio.connection import AbstractConnection, Connection, parse_url
from redis.exceptions import RedisError, ResponseError

from foja.errors import SetupFailed

TTL = 7 * 24 * 3600
RECONNECT_SECONDS = 0.5
# Answers nothing if the key is gone: whoever then knows the fence to be fresh brings its first number.
SCRIPT = """\
if redis.call('exists', KEYS[1]) == 0 then
    if ARGV[3] == '' then return false end
    redis.call('set', KEYS[1], ARGV[3])
end
local given = redis.call('incrby', KEYS[1], ARGV[1])
redis.call('expire', KEYS[1], ARGV[2])
return given"""
BROKEN = (RedisError, OSError)
Loss = Literal["missing", "run_id"]


class RedisAway(Exception):
    """Redis does not answer."""


class CounterLost(Exception):
    """Redis answers, and no longer knows this fence."""

    def __init__(self, reason: Loss) -> None:
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Ask:
    """A wish for numbers, or for a sign of life if `key` is empty."""

    key: str
    run_id: str | None
    count: int
    seed: int | None
    first: asyncio.Future[int]


class Counter:
    """The counters of all fences in one Redis."""

    def __init__(self, url: str, timeout: float) -> None:
        self.run_id: str | None = None
        self._timeout = timeout
        self._connection = _connection(url, self._greet)
        self._waiting: list[Ask] = []
        self._arrived, self._broken = asyncio.Event(), asyncio.Event()
        self._connecting = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Connect if Redis is there; go on trying if it is not."""
        with contextlib.suppress(RedisAway):
            await self.connect()
        self._tasks = [asyncio.create_task(self._answer_all()), asyncio.create_task(self._mend())]

    async def close(self) -> None:
        """Stop; whoever still waits is told that Redis is away."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        _fail(self._waiting, RedisAway())
        await self._disconnect()

    @property
    def away(self) -> bool:
        """Did Redis not answer when it was last asked?"""
        return self.run_id is None

    async def connect(self) -> str:
        """Connect now, unless connected; returns which run of Redis answers."""
        async with self._connecting:
            if self.run_id is None:
                try:
                    async with asyncio.timeout(self._timeout):
                        await self._connection.connect()  # type: ignore[no-untyped-call]
                except BROKEN as error:
                    await self._drop()
                    raise RedisAway from error
            assert self.run_id is not None
            return self.run_id

    async def take(
        self, entity_id: UUID, fence: UUID, run_id: str | None, count: int, seed: int | None
    ) -> int:
        """Return the first of `count` numbers. A fresh fence brings its `seed`."""
        return await self._ask(f"event:sequence:{entity_id}:{fence}", run_id, count, seed)

    async def ping(self) -> str:
        """Return which run of Redis answers."""
        await self._ask("", self.run_id, 0, None)
        return await self.connect()

    async def _ask(self, key: str, run_id: str | None, count: int, seed: int | None) -> int:
        if self.away:
            raise RedisAway
        ask = Ask(key, run_id, count, seed, asyncio.get_running_loop().create_future())
        self._waiting.append(ask)
        self._arrived.set()
        return await ask.first

    async def _answer_all(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            asks, self._waiting = self._waiting, []
            try:
                await self._answer([ask for ask in asks if not ask.first.done()])
            except BROKEN as error:
                await self._drop()
                _fail(asks, RedisAway(str(error)))
            except BaseException:
                _fail(asks, RedisAway("this process is closing"))
                raise

    async def _answer(self, asks: list[Ask]) -> None:
        if any(ask.run_id != self.run_id for ask in asks):
            await self._again()  # perhaps it is our connection that leads to the past
        try:
            await self._exchange(asks)
        except TimeoutError:
            raise
        except BROKEN:
            # Cut off, which a restart does too. What the first try took is never used, and voided later.
            await self._again()
            await self._exchange([ask for ask in asks if not ask.first.done()])

    async def _again(self) -> None:
        await self._drop()
        try:
            await self.connect()
        except RedisAway as error:
            raise ConnectionError("Redis is gone") from error

    async def _exchange(self, asks: list[Ask]) -> None:
        async with asyncio.timeout(self._timeout):
            groups = self._grouped(asks)
            commands = [each for group in groups.values() for each in self._command(group)]
            if commands:
                await self._connection.send_packed_command(commands, check_health=False)
            for group in groups.values():
                _share(group, await self._reply())

    def _grouped(self, asks: list[Ask]) -> dict[str, list[Ask]]:
        """Put together who asks for the same counter; tell those whose Redis is another one."""
        groups: dict[str, list[Ask]] = {}
        for ask in asks:
            if ask.run_id == self.run_id:
                groups.setdefault(ask.key, []).append(ask)
            else:
                _fail([ask], CounterLost("run_id"))
        return groups

    def _command(self, group: list[Ask]) -> list[bytes]:
        if not group[0].key:
            return self._connection.pack_command("PING")
        seed = next((ask.seed for ask in group if ask.seed is not None), "")
        count = sum(ask.count for ask in group)
        return self._connection.pack_command("EVAL", SCRIPT, 1, group[0].key, count, TTL, seed)

    async def _reply(self) -> Any:
        try:
            return await self._connection.read_response()
        except ResponseError as error:
            return error

    async def _greet(self, connection: AbstractConnection) -> None:
        """Learn which run of which Redis this connection leads to."""
        await connection.on_connect()
        await connection.send_command("INFO", "server", check_health=False)
        said = await connection.read_response()
        pipelines = dict(
            pipeline.split(":", 1) for pipeline in bytes(said).decode().splitlines() if ":" in pipeline
        )
        self.run_id = pipelines["run_id"]

    async def _mend(self) -> None:
        while True:
            if self.away:
                with contextlib.suppress(RedisAway):
                    await self.connect()
            if self.away:
                await asyncio.sleep(RECONNECT_SECONDS)
            else:
                self._broken.clear()
                await self._broken.wait()

    async def _drop(self) -> None:
        self.run_id = None
        self._broken.set()
        await self._disconnect()

    async def _disconnect(self) -> None:
        with contextlib.suppress(*BROKEN):
            await self._connection.disconnect(nowait=True)


def _share(group: list[Ask], reply: Any) -> None:
    """Hand out what Redis answered, in the order it was asked for."""
    if isinstance(reply, ResponseError):
        return _fail(group, RedisAway(str(reply)))
    if not group[0].key:
        reply = 0
    if reply is None:
        return _fail(group, CounterLost("missing"))
    first = int(reply) - sum(ask.count for ask in group)
    for ask in group:
        if not ask.first.done():
            ask.first.set_result(first)
        first += ask.count
    return None


def _fail(asks: list[Ask], error: Exception) -> None:
    for ask in asks:
        if not ask.first.done():
            ask.first.set_exception(error)


def _connection(url: str, greet: Any) -> AbstractConnection:
    try:
        options: dict[str, Any] = dict(parse_url(url))
    except ValueError as error:
        raise SetupFailed(f"FOJA_REDIS_URL cannot be used: {error}; correct it") from None
    kind: type[AbstractConnection] = options.pop("connection_class", Connection)
    options = {"socket_timeout": None, "socket_connect_timeout": None, "protocol": 2, **options}
    return kind(redis_connect_func=greet, **options)
