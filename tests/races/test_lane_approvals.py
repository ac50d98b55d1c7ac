"""On the Redis lane, too, one decision is valid and tools are read in the order of their requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from foja.app import App
from foja.domains.conversations import ConversationView
from tests.database.schema.rows import Admin, outcome
from tests.redis_server import RedisServer


async def test_concurrent_decisions_on_both_lanes_leave_one_decision(
    open_app: Callable[..., App], redis: RedisServer, admin: Admin
) -> None:
    async with open_app(redis_url=redis.url) as one, open_app() as two:
        talk = await one.conversations.open()
        elsewhere = await two.conversations.open(talk.id)
        first = await talk.append("thinking", {"content": "hm"})
        assert first.seq == 0
        assert admin.execute("select lane from foja.entity").fetchone() == ("redis",)
        for n in range(5):
            name, due = f"a{n}", (datetime.now(UTC) + timedelta(milliseconds=20 * n)).isoformat()
            request = {"approval_id": name, "tool_name": "pay", "tool_args": {}, "expires_at": due}
            await talk.append("approval_requested", request)
            decisions = [
                (talk if k % 2 else elsewhere).decide(name, ("approved", "denied")[k % 3 % 2], actor=f"p{k}")
                for k in range(12)
            ]
            done = await asyncio.gather(*map(outcome, [*decisions, one.work(until_idle=True)]))
            assert {each.approval.decided_seq for each in done[:-1]} == {
                (await talk.approval(name)).decided_seq
            }
            assert done[-1] is None
        events = await talk.events()
        assert [event.seq for event in events] == list(range(len(events)))
        decided = [event.payload for event in events if event.kind == "approval_completed"]
        assert len(decided) == 5
        assert {each["tool_name"] for each in decided} == {"pay"}
        assert [events[each["request_seq"]].payload["approval_id"] for each in decided] == [
            each["approval_id"] for each in decided
        ]


async def test_tools_on_the_redis_lane_are_read_in_order_of_request(
    open_app: Callable[..., App], redis: RedisServer
) -> None:
    calls = [{"tool_name": "search", "tool_args": {}, "tool_use_id": f"t{n}"} for n in range(8)]
    async with open_app(redis_url=redis.url) as app:
        talk = await app.conversations.open()
        async with talk.tools(calls) as tools:
            chatter = [talk.append("thinking", {"content": "meanwhile"}) for _ in range(8)]
            answers = [use.complete(use.tool_use_id) for use in reversed(list(tools))]
            await asyncio.gather(*answers, *chatter)
        items = ConversationView(await talk.events()).items()
    for kind in ("tool_use_requested", "tool_use_completed"):
        found = [item["payload"]["tool_use_id"] for item in items if item["kind"] == kind]
        assert found == [call["tool_use_id"] for call in calls]
    assert {item["state"] for item in items} == {"completed", None}
