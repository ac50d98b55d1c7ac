"""The rate limit over HTTP: in one process, across two through Redis, and while Redis is away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import uuid4

from foja.app import App
from tests.flow.client.client import served
from tests.redis_server import RedisServer

SLOW = {"rate_limit": 0.01, "rate_burst": 5}


async def test_a_principal_that_sends_too_much_is_told_when_to_come_again(
    open_app: Callable[..., App],
) -> None:
    async with open_app(**SLOW) as app, served(app) as client:
        answers = [await client.get("/v1/conversations") for _ in range(7)]
        assert [each.status_code for each in answers] == [200] * 5 + [429] * 2
        assert int(answers[-1].headers["retry-after"]) > 50
        assert answers[-1].headers["content-type"] == "application/problem+json"
        assert (await client.get("/healthz")).status_code == 200


async def test_agents_and_keys_are_counted_too(open_app: Callable[..., App]) -> None:
    """`/mcp`, AG-UI and `/v1/access` were a way around the limit."""
    async with open_app(**SLOW) as app, served(app) as client:
        for _ in range(5):
            assert (await client.get("/v1/access/me")).status_code == 200
        tools = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        accepted = {"Accept": "application/json, text/event-stream"}
        assert (await client.post("/mcp", json=tools, headers=accepted)).status_code == 429
        assert (await client.get(f"/v1/conversations/{uuid4()}/ag-ui")).status_code == 429
        assert (await client.get("/v1/access/keys")).status_code == 429


async def test_a_limit_holds_across_two_processes(open_app: Callable[..., App], redis: RedisServer) -> None:
    async with (
        open_app(redis_url=redis.url, redis_timeout_seconds=60, **SLOW) as app,
        served(app) as one,
        served(app) as two,
    ):
        answers = await asyncio.gather(*(each.get("/v1/streams") for each in (one, two) for _ in range(6)))
        assert sorted(each.status_code for each in answers) == [200] * 5 + [429] * 7


async def test_without_redis_a_process_counts_alone(open_app: Callable[..., App]) -> None:
    async with open_app(**SLOW) as app:
        gone = app.settings.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"})
        app.settings = gone
        async with served(app) as client:
            answers = [await client.get("/v1/streams") for _ in range(7)]
        assert [each.status_code for each in answers] == [200] * 5 + [429] * 2
