"""A failed append is shown to followers as an `error`, never as an event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import Transient
from foja.errors import BadPayload, FojaError
from tests.cases import all_cases
from tests.faults.proxy import wired
from tests.flow.client.client import SAY, Tab, reading, served, until
from tests.races.writers import TOOL, result, words

BIG = {"content": "x" * 1_100_000, "turn": "t1", "block_index": 3}


@asynccontextmanager
async def followed(talk: Conversation) -> AsyncIterator[list[Transient]]:
    """Yield the list of transients that a follower gets."""
    found: list[Transient] = []
    ready = asyncio.Event()

    async def follow() -> None:
        async for item in talk.follow():
            ready.set()
            if isinstance(item, Transient):
                found.append(item)

    await talk.append(SAY, words("first"))
    task = asyncio.create_task(follow())
    await ready.wait()
    try:
        yield found
    finally:
        task.cancel()


Action = Callable[[Conversation], Coroutine[Any, Any, Any]]


async def fill(talk: Conversation) -> None:
    await (await talk.reserve(1)).fill(0, SAY, BIG)


async def resumed(talk: Conversation) -> None:
    slots = await talk.reserve(1)
    await talk.slots(slots.token, slots.seqs).fill(0, SAY, BIG)


@all_cases(
    ("action", "code", "place"),
    [
        (lambda talk: talk.append(SAY, BIG), "too_large", ("t1", 3)),
        (lambda talk: talk.append("agent_message_sent", {"text": 1, "turn": 7}), "bad_payload", (7, None)),
        (lambda talk: talk.append("no_such", {"turn": [], "block_index": -1}), "unknown_kind", (None, None)),
        (
            lambda talk: talk.append(SAY, {"content": "\ud800", "turn": "\ud800"}),
            "not_canonical",
            (None, None),
        ),
        (lambda talk: talk.append(SAY, []), "bad_payload", (None, None)),
        (fill, "too_large", ("t1", 3)),
        (resumed, "too_large", ("t1", 3)),
    ],
    ids=["large", "payload", "kind", "surrogate", "list", "fill", "resumed"],
)
async def test_a_refused_append_is_an_error_to_followers(
    app: App, action: Action, code: str, place: tuple[Any, ...]
) -> None:
    """Whatever refused it, with its place in the turn."""
    talk = await app.conversations.open()
    async with followed(talk) as found:
        with pytest.raises(FojaError) as raised:
            await action(talk)
        await until(lambda: bool(found))
    (error,) = found
    assert (error.kind, error.payload["code"], raised.value.code) == ("error", code, code)
    assert error.payload["message"]
    assert (error.turn, error.block_index) == place


async def test_batches_tell_too(app: App, admin: Any) -> None:
    """`append_many` and `append_each`, refused by the database."""
    talk, other = await app.conversations.open(), await app.conversations.open()
    async with followed(talk) as found:
        drafts = [talk.draft(SAY, words("a")), talk.draft(SAY, words("b"))._replace(kind="document.added")]
        with pytest.raises(FojaError):
            await talk.append_many(drafts)
        await until(lambda: len(found) == 1)
        good, bad = await talk.append_each(drafts)
        await until(lambda: len(found) == 2)
        assert isinstance(bad, FojaError)
        assert not isinstance(good, FojaError)
    assert [each.payload["code"] for each in found] == [bad.code, bad.code]
    assert await other.events() == []


async def test_an_append_that_finds_its_place_taken_is_no_error(app: App) -> None:
    """Another event is recorded there, and followers get that one."""
    talk = await app.conversations.open()
    async with followed(talk) as found:
        await talk.append(SAY, words("a"), idempotency_key="k")
        slots = await talk.reserve(2)
        await slots.fill(0, TOOL, result("a"))
        await slots.void(1, reason="x")
        for refused in (
            talk.append(SAY, words("b"), idempotency_key="k"),
            talk.append(SAY, words("b"), expected_seq=0),
            slots.fill(0, TOOL, result("b"), idempotency_key="another"),
            slots.fill(1, TOOL, result("b")),
        ):
            with pytest.raises(FojaError):
                await refused
        await talk.emit("complete", {})
        await until(lambda: bool(found))
    assert [each.kind for each in found] == ["complete"]


async def test_followers_over_http_see_an_unavailable_database(
    open_app: Callable[..., App], database_url: str
) -> None:
    """An append that could not reach the database, on the page of a follower."""
    async with (
        wired(database_url) as proxy,
        open_app(database_url=proxy.url, retry_seconds=0.2) as app,
        served(app) as client,
    ):
        talk = await app.conversations.open()
        await talk.append(SAY, words("0"))
        tab = Tab()
        async with reading(tab, client, f"/v1/conversations/{talk.id}/stream"):
            await until(lambda: tab.count == 1)
            proxy.cut("", "before", times=1_000_000)
            with pytest.raises(FojaError):
                await talk.append(SAY, {**words("lost"), "turn": "t", "block_index": 0})
            proxy.cut("", "before", times=0)
            await until(lambda: bool(tab.transients), 60)
        assert [each["kind"] for each in tab.transients] == ["error"]
        assert tab.transients[0]["payload"]["code"] == "ledger_unavailable"
        assert list(tab.events) == [0]


async def test_what_is_not_a_draft_is_refused_by_name(app: App) -> None:
    talk = await app.conversations.open()
    for append in (talk.append_many, talk.append_each):
        with pytest.raises(BadPayload, match="'junk' is not a draft"):
            await append(["junk"])  # type: ignore[list-item]
