"""Numbers from Redis over one connection. Concurrent requests share one round trip.

If Redis does not answer, one caller waits for the timeout. Later callers fail at once, and a
background task reconnects. An answer that Redis never gives counts as no answer: whatever sent
it, the connection is closed, and the caller gets `RedisUnavailable`.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from redis.asyncio.connection import AbstractConnection, Connection, parse_url
from redis.exceptions import RedisError, ResponseError

from foja.engine.faults import Report, unreported
from foja.engine.tasks import end
from foja.errors import SetupFailed, Unavailable

TTL = 7 * 24 * 3600
RECONNECT_SECONDS = 0.5
# Returns nothing if the key is absent. A caller that knows that the fence is new sends its first number.
SCRIPT = """\
if redis.call('exists', KEYS[1]) == 0 then
    if ARGV[3] == '' then return false end
    redis.call('set', KEYS[1], ARGV[3])
end
local given = redis.call('incrby', KEYS[1], ARGV[1])
redis.call('expire', KEYS[1], ARGV[2])
return given"""
BROKEN = (RedisError, OSError)
LIMIT = 2**63  # of a counter of Redis
Loss = Literal["missing", "run_id"]


class RedisUnavailable(Exception):
    """Redis does not answer."""


class CounterLost(Exception):
    """Redis answers, but does not know this fence."""

    def __init__(self, reason: Loss) -> None:
        self.reason = reason


@dataclass(frozen=True, slots=True)
class CounterRequest:
    """A request for numbers, or a ping if `key` is empty."""

    key: str
    run_id: str | None
    count: int
    seed: int | None
    first: asyncio.Future[int]


class Counter:
    """The counters of all fences in one Redis."""

    def __init__(self, url: str, timeout: float, report: Report = unreported) -> None:
        """`report` is told whether Redis answers, each time that it is asked."""
        self._report = report
        self.run_id: str | None = None
        self._timeout = timeout
        self._connection = _connection(url, self._read_run_id)
        self._waiting: list[CounterRequest] = []
        self._arrived, self._broken = asyncio.Event(), asyncio.Event()
        self._connecting = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Connect, or keep trying if Redis does not answer."""
        with contextlib.suppress(RedisUnavailable):
            await self.connect()
        self._tasks = [asyncio.create_task(self._serve()), asyncio.create_task(self._keep_connected())]

    async def close(self) -> None:
        """Stop. Waiting callers get `RedisUnavailable`."""
        await end(self._tasks)
        _fail(self._waiting, RedisUnavailable())
        await self._drop()

    @property
    def unavailable(self) -> bool:
        """Whether the last request to Redis failed."""
        return self.run_id is None

    async def connect(self) -> str:
        """Connect, unless connected. Return the run id of Redis."""
        async with self._connecting:
            if self.run_id is None:
                await self._open_connection()
            if self.run_id is None:
                raise RedisUnavailable
            return self.run_id

    async def _open_connection(self) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                await self._connection.connect()  # type: ignore[no-untyped-call]
        except Exception as error:
            await self._drop()
            raise RedisUnavailable from error
        except BaseException:
            await self._drop()  # cancelled: half a connection is none
            raise

    async def take(
        self, entity_id: UUID, fence: UUID, run_id: str | None, count: int, seed: int | None
    ) -> int:
        """Return the first of `count` numbers. With a new fence, `seed` is its first number."""
        return await self._request(f"event:sequence:{entity_id}:{fence}", run_id, count, seed)

    async def ping(self) -> str:
        """Return the run id of Redis after a round trip."""
        await self._request("", self.run_id, 0, None)
        return await self.connect()

    async def _request(self, key: str, run_id: str | None, count: int, seed: int | None) -> int:
        if self.unavailable:
            raise RedisUnavailable
        request = CounterRequest(key, run_id, count, seed, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        self._arrived.set()
        return await request.first

    async def _serve(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            requests, self._waiting = self._waiting, []
            try:
                await self._answer([request for request in requests if not request.first.done()])
                self._report(None)
            except Exception as error:
                await self._drop()
                self._report(Unavailable(f"Redis does not answer ({error or type(error).__name__})"))
                _fail(requests, RedisUnavailable(str(error)))
            except BaseException:
                _fail(requests, RedisUnavailable("this process is closing"))
                raise

    async def _answer(self, requests: list[CounterRequest]) -> None:
        if any(request.run_id != self.run_id for request in requests):
            await self._reconnect()  # the run id of our own connection may be outdated
        try:
            await self._exchange(requests)
        except TimeoutError:
            raise
        except BROKEN:
            # Disconnected, perhaps by a restart. Numbers of the first try are never used and voided later.
            await self._reconnect()
            await self._exchange([request for request in requests if not request.first.done()])

    async def _reconnect(self) -> None:
        await self._drop()
        try:
            await self.connect()
        except RedisUnavailable as error:
            raise ConnectionError("Redis does not answer") from error

    async def _exchange(self, requests: list[CounterRequest]) -> None:
        async with asyncio.timeout(self._timeout):
            groups = self._group(requests)
            commands = [each for group in groups.values() for each in self._command(group)]
            if commands:
                await self._connection.send_packed_command(commands, check_health=False)
            for group in groups.values():
                _distribute(group, await self._reply())

    def _group(self, requests: list[CounterRequest]) -> dict[str, list[CounterRequest]]:
        """Group requests by counter. Fail those that expect another run of Redis."""
        groups: dict[str, list[CounterRequest]] = {}
        for request in requests:
            if request.run_id == self.run_id:
                groups.setdefault(request.key, []).append(request)
            else:
                _fail([request], CounterLost("run_id"))
        return groups

    def _command(self, group: list[CounterRequest]) -> list[bytes]:
        if not group[0].key:
            return self._connection.pack_command("PING")
        seed = next((request.seed for request in group if request.seed is not None), "")
        count = sum(request.count for request in group)
        return self._connection.pack_command("EVAL", SCRIPT, 1, group[0].key, count, TTL, seed)

    async def _reply(self) -> Any:
        try:
            return await self._connection.read_response()
        except ResponseError as error:
            return error

    async def _read_run_id(self, connection: AbstractConnection) -> None:
        """Read the run id of the Redis at the other end of a new connection."""
        await connection.on_connect()
        await connection.send_command("INFO", "server", check_health=False)
        info = await connection.read_response()
        lines = info.decode().splitlines() if isinstance(info, bytes) else []
        self.run_id = dict(line.split(":", 1) for line in lines if ":" in line)["run_id"]

    async def _keep_connected(self) -> None:
        while True:
            try:
                await self.connect()
            except RedisUnavailable as error:
                reason = error.__cause__ or type(error).__name__
                self._report(Unavailable(f"Redis does not answer ({reason})"))
                await asyncio.sleep(RECONNECT_SECONDS)
            else:
                self._report(None)
                self._broken.clear()
                await self._broken.wait()

    async def _drop(self) -> None:
        self.run_id = None
        self._broken.set()
        with contextlib.suppress(Exception):
            await self._connection.disconnect(nowait=True)


def _distribute(group: list[CounterRequest], reply: Any) -> None:
    """Distribute the numbers of one reply, in the order of the requests. Raise `ValueError` if it is odd."""
    if isinstance(reply, ResponseError):
        return _fail(group, RedisUnavailable(str(reply)))
    if not group[0].key:
        reply = 0 if reply == b"PONG" else b""
    if reply is None:
        return _fail(group, CounterLost("missing"))
    if type(reply) is not int or reply >= LIMIT:
        raise ValueError("not an answer of Redis: expected an integer below 2^63")
    first = reply - sum(request.count for request in group)
    for request in group:
        if not request.first.done():
            request.first.set_result(first)
        first += request.count
    return None


def _fail(requests: list[CounterRequest], error: Exception) -> None:
    for request in requests:
        if not request.first.done():
            request.first.set_exception(error)


def _connection(url: str, on_connect: Any) -> AbstractConnection:
    try:
        options: dict[str, Any] = dict(parse_url(url))
    except ValueError as error:
        raise SetupFailed(f"FOJA_REDIS_URL is not valid: {error}; correct it") from None
    kind: type[AbstractConnection] = options.pop("connection_class", Connection)
    options = {"socket_timeout": None, "socket_connect_timeout": None, "protocol": 2, **options}
    return kind(redis_connect_func=on_connect, **options)
