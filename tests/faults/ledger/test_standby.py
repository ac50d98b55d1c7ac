"""A server with a synchronous standby: what is acknowledged is on both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import AsyncConnection

import foja
from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.domains.registration import prepare
from foja.errors import LedgerUnavailable
from tests.faults.ledger.replicated import SECONDS, Pair, running_pair, until
from tests.races.writers import SAY, words

BODY = words("approved by both")
BY_SQL: LiteralString = """
    select foja.append_event(%(id)s, 'conversation', 'user_message_sent', %(body)s, idempotency_key => 'k')"""
BY_LANE: LiteralString = """
    select foja.lane_append(foja.new_draft(%(id)s, 'conversation', 'default', 'user_message_sent',
        foja.canonical(%(body)s), 'api', p_key => 'k'), 1, fence) from foja.entity where entity_id = %(id)s"""
TO_REDIS: LiteralString = """
    select foja.move_lane(%(id)s, 'conversation', 'default', 'api', null, 'redis', 'run', interval '0')"""
DECIDED: LiteralString = """
    select foja.append_event(%(id)s, 'conversation', 'approval_completed',
        '{"approval_id": "a", "decision": "approved", "reason": null}')"""
FILLED: LiteralString = """
    select foja.fill_event(%(id)s, 'conversation', 1, %(token)s, 'user_message_sent', %(body)s)"""
ERASED: LiteralString = "select foja.erase(%(id)s, 'conversation', 'default', 0, 'api', null, 'asked')"


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    with running_pair() as pair:
        await prepare(pair.primary.url)
        pair.wait_for_standby()
        yield pair


@dataclass
class Act:
    """An act whose first answer is lost in the crash, and the same act again."""

    talk: Conversation
    first: LiteralString
    again: Callable[[], Awaitable[Any]]
    token: Any = None

    async def lose(self, url: str) -> None:
        """Do it over a connection of its own. Its commit waits, and then the server is gone."""
        with pytest.raises(psycopg.OperationalError):
            await run(url, self.first, self.talk, self.token)


async def run(url: str, statement: LiteralString, talk: Conversation, token: Any = None) -> Any:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("set foja.tenant = 'default'")
        values = {"id": talk.id, "body": json.dumps(BODY), "token": token}
        return await (await connection.execute(statement, values)).fetchone()


async def acts(app: App, url: str) -> list[Act]:
    """Return one act for every way to a "recorded before", each in a conversation of its own."""
    talks = [await app.conversations.open() for _ in range(9)]
    one, many, each, plain, lane, decided, waited, filled, erased = talks
    for talk in talks:
        await talk.append(SAY, words("first"))
    for talk in (decided, waited):
        await talk.request_approval("pay", {}, approval_id="a")
    slots = await filled.reserve(1, ttl=600)
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(TO_REDIS, {"id": lane.id})
    drafts = {talk: talk.draft(SAY, BODY, idempotency_key="k") for talk in (many, each)}
    return [
        Act(one, BY_SQL, lambda: one.append(SAY, BODY, idempotency_key="k")),
        Act(many, BY_SQL, lambda: many.append_many([drafts[many]])),
        Act(each, BY_SQL, lambda: each.append_each([drafts[each], each.draft(SAY, BODY, expected_seq=99)])),
        Act(plain, BY_SQL, lambda: run(url, BY_SQL, plain)),
        Act(lane, BY_LANE, lambda: run(url, BY_LANE, lane)),
        Act(decided, DECIDED, lambda: decided.decide("a", "approved")),
        Act(waited, DECIDED, lambda: waited.wait_for_approval("a")),
        Act(filled, FILLED, lambda: slots.fill(0, SAY, BODY), slots.token),
        Act(erased, ERASED, lambda: erased.erase(0, reason="asked")),
    ]


async def test_a_standby_has_what_was_acknowledged_and_serves_on(pair: Pair, tmp_path: Path) -> None:
    """An append waited for its standby, the server crashed and came back, and the retry found the event.

    It was acknowledged though no standby had it, and was lost with the server. The error of a standby
    was untyped, and an append to a server that was stopped waited until it went on.
    """
    with pytest.raises(LedgerUnavailable, match="standby"):
        async with foja.connect(database_url=pair.standby.url, home=tmp_path / "other"):
            pass
    async with foja.connect(
        database_url=pair.url, home=tmp_path, micro_batch=False, connections=16, answer_seconds=3
    ) as app:
        todo = await acts(app, pair.primary.url)
        with pair.frozen():
            await lose_all(todo, pair)
            again = [asyncio.ensure_future(act.again()) for act in todo]
            while sum(task.done() for task in again) + pair.waiting() < len(todo):
                await asyncio.sleep(0.05)
            assert not [act for act, task in zip(todo, again, strict=True) if task.done()]
        async with asyncio.timeout(SECONDS):
            await asyncio.gather(*again)
        with pair.primary.stopped():
            talk = await app.conversations.open()
            moved = asyncio.create_task(talk.append(SAY, words("recorded by the other")))
            await asyncio.to_thread(pair.standby.promote)
            async with asyncio.timeout(SECONDS):
                assert (await moved).seq == 0
    with psycopg.connect(pair.standby.url) as connection:
        rows = connection.execute("select entity_id, count(*) from foja.event group by 1").fetchall()
    assert {entity for entity, count in rows if count > 1} == {act.talk.id for act in todo}
    assert (talk.id, 1) in rows


async def lose_all(todo: list[Act], pair: Pair) -> None:
    """Do everything once, crash the server while all commits wait, and start it again."""
    lost = [asyncio.create_task(act.lose(pair.primary.url)) for act in todo]
    await asyncio.to_thread(until, lambda: pair.waiting() == len(todo))
    await asyncio.to_thread(pair.primary.kill)
    await asyncio.gather(*lost)
    await asyncio.to_thread(pair.primary.start)


async def test_a_start_waits_while_the_server_recovers(
    pair: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`foja web` that started while PostgreSQL recovered after a crash ended at once."""
    server = pair.standby
    server.kill()
    server.start_recovering()
    app = foja.connect(database_url=server.url, home=tmp_path)
    starting = asyncio.create_task(app.__aenter__())
    async with asyncio.timeout(SECONDS):
        while "recovers after a crash" not in caplog.text:
            assert not starting.done()
            await asyncio.sleep(0.05)
        server.promote()
        async with await starting as started:
            assert await started.conversations.open()
