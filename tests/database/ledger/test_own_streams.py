"""Handles on streams of users' domains: what they reach, what they refuse, and how an error says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from foja.app import App
from foja.engine.jobs.outcome import NewJob
from foja.engine.ledger.stream import Stream
from foja.errors import BadDomain, BadPayload, Refused, UnknownDomain, UnknownKind, WrongEntity
from foja.pure.core.registry import Domain, JobType, Kind

Admin = psycopg.Connection[Any]
NOTE = Domain("note", [Kind("note.made", erasable=True)], jobs=[JobType("print_note", "note-printer")])
CARD = Domain("card", [Kind("card.made", erasable=True)], jobs=[JobType("print_card", "card-printer")])


async def calls(stream: Stream, protect: Callable[[], Awaitable[object]]) -> dict[str, Awaitable[object]]:
    return {
        "append": stream.append(stream.domain.kinds[0].name, {"content": "x"}),
        "reserve": stream.reserve(1),
        "events": stream.events(),
        "follow": anext(stream.follow()),
        "state": stream.state(),
        "prove": stream.prove(0),
        "erase": stream.erase(0, reason="asked"),
        "protect": protect(),
    }


async def test_a_handle_of_another_domain_reaches_nothing(open_app: Callable[..., App]) -> None:
    """E7: the handle of one domain neither reads nor erases a stream of another, in both directions."""
    async with open_app(domains=[NOTE, CARD]) as app:
        talk, note = await app.conversations.open(), await app.streams(NOTE).open()
        await talk.append("user_message_sent", {"content": "secret"})
        await note.append("note.made", {"text": "secret"})
        await app.work(until_idle=True)
        as_talk = await app.conversations.open(note.id)
        foreign = [await app.streams(CARD).open(each.id) for each in (talk, note)]
        attempts = [await calls(each, each.protect) for each in foreign]
        attempts.append(await calls(as_talk, lambda: app.conversations.protect(note.id)))
        for attempt in attempts:
            for name, call in attempt.items():
                with pytest.raises(WrongEntity, match="is not a"):
                    raise AssertionError(f"{name} returned {await call}")
        assert [event.payload for event in await talk.events()] == [{"content": "secret"}]
        assert [event.payload for event in await note.events()] == [{"text": "secret"}]


async def test_sql_erases_a_stream_of_the_named_domain_only(
    open_app: Callable[..., App], admin: Admin
) -> None:
    """E7: `foja.erase` takes the domain and refuses a stream of another."""
    async with open_app(domains=[NOTE, CARD]) as app:
        note = await app.streams(NOTE).open()
        await note.append("note.made", {"text": "secret"})
        erase = "select foja.erase(%s, %s, 'default', 0, 'api', null, 'asked')"
        with pytest.raises(psycopg.Error, match="wrong_entity"):
            admin.execute(erase, [note.id, "card"])
        assert (await note.events())[0].payload == {"text": "secret"}
        admin.execute(erase, [note.id, "note"])
        assert (await note.events())[0].payload is None


async def test_a_job_type_of_another_domain_is_refused(open_app: Callable[..., App], admin: Admin) -> None:
    """E15: neither the API nor `decide` enqueues a job of one domain for a stream of another."""
    order = Domain(
        "order",
        [Kind("order.made")],
        decide=lambda events, now: [NewJob("print_note", events[0].entity_id, "k")],
    )
    async with open_app(domains=[NOTE, order]) as app:
        stream = await app.streams(order).open()
        await stream.append("order.made", {})
        for job_type in ("print_note", "run_tsa"):
            with pytest.raises(WrongEntity, match="is a job of the domain"):
                await app.jobs.enqueue(job_type, stream.id, key="k")
        await app.work(until_idle=True, only="decide_order")
        [job] = await app.jobs.list()
        assert (job.type, job.state) == ("decide_order", "dead")
        assert "print_note is a job of the domain note" in str(job.last_error)


async def test_drafts_of_another_stream_are_refused(open_app: Callable[..., App]) -> None:
    """E20: `append_many` and `append_each` take drafts of their own stream, and nothing else."""
    async with open_app(domains=[NOTE]) as app:
        mine, yours = await app.streams(NOTE).open(), await app.streams(NOTE).open()
        drafts = [mine.draft("note.made", {}), yours.draft("note.made", {})]
        for append in (mine.append_many, mine.append_each):
            with pytest.raises(WrongEntity, match=str(yours.id)):
                await append(drafts)
            with pytest.raises(BadPayload, match="'junk' is not a draft"):
                await append(["junk"])  # type: ignore[list-item]
        assert not await mine.events()
        assert not await yours.events()


async def test_a_domain_that_is_not_registered_is_unknown(open_app: Callable[..., App]) -> None:
    """E20, E21: `streams` takes a registered domain; the error says how to register or to find one."""
    async with open_app(domains=[NOTE]) as app:
        with pytest.raises(UnknownDomain, match="foja migrate --domains"):
            await app.streams(CARD).open()
        with pytest.raises(UnknownDomain, match="foja migrate --domains"):
            await app.streams(CARD).list()
        with pytest.raises(UnknownDomain, match=r"registry\.find"):
            app.streams("note")  # type: ignore[arg-type]


async def test_the_same_domain_twice_is_one(
    open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    """E10, E11: a domain of FOJA_DOMAINS may also be given; None is no domain; a wrong value is refused."""
    monkeypatch.setenv("FOJA_DOMAINS", f"{__name__}:NOTE, {__name__}:NOTE")
    async with open_app(domains=[NOTE]) as app:
        assert not await app.streams(NOTE).list()
    assert open_app(domains=None)
    for wrong in (CARD, "note", [None], 5):
        with pytest.raises(BadDomain, match=r"domains=\["):
            open_app(domains=wrong)
    with pytest.raises(BadDomain, match="two domains are named 'note'"):
        open_app(domains=[Domain("note", [Kind("note.lost")])])


async def test_an_unclear_value_gets_a_clear_error(open_app: Callable[..., App]) -> None:
    """E22: the message names the version that is known, the JSON type, and the limit."""
    later = Domain("later", [Kind("later.made", v=2, required={"to": "string"})])
    async with open_app(domains=[later]) as app:
        stream = await app.streams(later).open()
        with pytest.raises(UnknownKind, match="as v2; give v=2, not v=1"):
            await stream.append("later.made", {"to": "ana"})
        with pytest.raises(BadPayload, match="the idempotency key is empty"):  # E24
            await stream.append("later.made", {"to": "ana"}, v=2, idempotency_key="")
        with pytest.raises(BadPayload, match="must be string, not number"):
            await stream.append("later.made", {"to": 5}, v=2)
        for page in (stream.events, app.streams(later).list, app.jobs.list, app.conversations.list):
            with pytest.raises(Refused, match="limit is -1"):
                await page(limit=-1)


async def test_sql_writes_for_the_tenant_of_its_session(open_app: Callable[..., App], admin: Admin) -> None:
    """E14: without a `tenant` argument, the setting `foja.tenant` says whose event or job it is."""
    stream = uuid4()
    async with open_app(domains=[NOTE], tenant="acme") as acme, open_app(domains=[NOTE]) as other:
        admin.execute("set role foja_api; set foja.tenant = 'acme'")
        admin.execute("select foja.append_event(%s, 'note', 'note.made', '{}')", [stream])
        admin.execute("select foja.enqueue_job_v1('print_note', %s, 'k')", [stream])
        assert await acme.streams(NOTE).list() == [stream]
        assert [job.tenant for job in await acme.jobs.list()] == ["acme"]
        admin.execute("reset foja.tenant")
        with pytest.raises(psycopg.Error, match="unknown_entity"):
            admin.execute("select foja.append_event(%s, 'note', 'note.made', '{}')", [stream])
        assert not await other.streams(NOTE).list()
