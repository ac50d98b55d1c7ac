"""The guarantee table of seed 002, every row, with a real Redis and sixteen writers in two processes."""

from __future__ import annotations

from pathlib import Path

from tests.faults.ledger.lane_scene import scene
from tests.redis_server import RedisServer


async def test_redis_up(database_url: str, tmp_path: Path, redis: RedisServer) -> None:
    async with scene(database_url, tmp_path, redis) as stage:
        await stage.hold_slots()
        await stage.write(150)
        await stage.finish()
        assert set(stage.moves().values()) == {0}


async def test_redis_stopped_and_started_again(database_url: str, tmp_path: Path, redis: RedisServer) -> None:
    async with scene(database_url, tmp_path, redis) as stage:
        await stage.hold_slots()
        redis.stop()
        await stage.on("postgres")
        await stage.write()
        redis.start()
        await stage.on("redis")
        await stage.write()
        await stage.finish()
        assert set(stage.moves().values()) == {2}, "one for the fault, one for the return"


async def test_redis_killed_and_restarted_empty(
    database_url: str, tmp_path: Path, redis: RedisServer
) -> None:
    async with scene(database_url, tmp_path, redis) as stage:
        await stage.hold_slots()
        redis.kill()
        redis.start()
        await stage.write()
        await stage.on("redis")
        await stage.write()
        await stage.finish()
        # It stays on Redis if Redis was up again when the first writer noticed.
        assert set(stage.moves().values()) <= {1, 2}


async def test_redis_emptied(database_url: str, tmp_path: Path, redis: RedisServer) -> None:
    async with scene(database_url, tmp_path, redis) as stage:
        await stage.hold_slots()
        with redis.client() as client:
            client.flushall()
        await stage.write()
        await stage.finish()
        assert set(stage.moves().values()) == {1}
        assert {f"event:sequence:{session}:{fence}" for session, fence in stage.fences()} <= set(
            redis.counters()
        )


async def test_redis_restored_with_an_older_value_while_slots_are_open(
    database_url: str, tmp_path: Path, redis: RedisServer
) -> None:
    async with scene(database_url, tmp_path, redis) as stage:
        redis.save()
        await stage.hold_slots()
        await stage.write(40)
        redis.kill()
        redis.start()
        await stage.write()
        await stage.on("redis")
        await stage.write()
        await stage.finish()
        assert set(stage.moves().values()) <= {1, 2}


async def test_a_counter_set_back_while_slots_are_open(
    database_url: str, tmp_path: Path, redis: RedisServer
) -> None:
    async with scene(database_url, tmp_path, redis) as stage:
        with redis.client() as client:
            older = {key: client.get(key) for key in redis.counters()}
            await stage.hold_slots()
            await stage.write(40)
            for key, value in older.items():
                client.set(key, value)
        await stage.write()
        await stage.finish()
        assert set(stage.moves().values()) == {1}


async def test_the_counter_expired(database_url: str, tmp_path: Path, redis: RedisServer) -> None:
    async with scene(database_url, tmp_path, redis) as stage:
        await stage.hold_slots()
        with redis.client() as client:
            for key in redis.counters():
                assert 0 < int(client.ttl(key)) <= 7 * 24 * 3600
                client.pexpire(key, 0)
        await stage.write()
        await stage.finish()
        assert set(stage.moves().values()) == {1}


async def test_redis_slower_than_its_timeout(database_url: str, tmp_path: Path, redis: RedisServer) -> None:
    async with scene(database_url, tmp_path, redis, redis_timeout_seconds=1.0) as stage:
        await stage.hold_slots()
        redis.freeze()
        await stage.on("postgres")
        await stage.write()
        redis.thaw()
        await stage.on("redis")
        await stage.write()
        await stage.finish()
        assert set(stage.moves().values()) == {2}
