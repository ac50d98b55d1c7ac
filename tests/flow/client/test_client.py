"""The Python client against a live server: the same story as in process, errors, retries, resumes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import get_args
from uuid import uuid4

import pytest

from foja import client as foja_client
from foja import errors
from foja.app import App
from foja.client import Client
from foja.client.problems import _BY_NAME, rebuild
from foja.engine.ledger.event import Event, Reset
from tests.flow.client.client import SAY
from tests.flow.http.cut_relay import CutRelay, Moment, cut_relay

HI = {"content": "hi"}


@pytest.fixture
async def relayed(url: str) -> AsyncIterator[tuple[Client, CutRelay]]:
    async with cut_relay(url) as (address, relay), foja_client.connect(address) as client:
        yield client, relay


@pytest.mark.parametrize("name", sorted(_BY_NAME))
def test_every_error_survives_its_problem_document(name: str) -> None:
    kind = _BY_NAME[name]
    document = {"error": name, "code": kind.code, "detail": "what and why", "status": 422}
    error = rebuild(document, 422)
    assert (type(error), error.code, str(error), error.retryable) == (
        kind,
        kind.code,
        "what and why",
        kind.retryable,
    )
    precise = rebuild({**document, "code": "precondition_failed:tsa.confirmed"}, 422)
    assert (type(precise), precise.code) == (kind, "precondition_failed:tsa.confirmed")


def test_answers_of_others_have_a_class_by_their_status() -> None:
    found = [type(rebuild({}, status)) for status in (400, 401, 403, 404, 413, 429, 502, 500)]
    assert found == [
        errors.Refused,
        errors.NotAuthenticated,
        errors.NotAllowed,
        errors.UnknownEntity,
        errors.TooLarge,
        errors.Unavailable,
        errors.Unavailable,
        errors.FojaError,
    ]


@pytest.mark.parametrize("moment", get_args(Moment))
async def test_a_lost_append_is_sent_again_and_recorded_once(
    app: App, relayed: tuple[Client, CutRelay], moment: Moment
) -> None:
    client, relay = relayed
    talk = await client.conversations.open()
    relay.lose("/events", moment, times=2)
    event = await talk.append(SAY, HI)
    assert relay.cuts == 2
    assert (event.seq, event.replayed) == (0, moment == "but saved")
    assert [each.payload for each in await (await app.conversations.open(talk.id)).events()] == [HI]


async def test_a_lost_reservation_is_asked_for_again_and_takes_no_other_numbers(
    app: App, relayed: tuple[Client, CutRelay]
) -> None:
    client, relay = relayed
    talk = await client.conversations.open()
    await talk.append(SAY, HI)
    relay.lose("/slots", "but saved")
    assert (await talk.reserve(2)).seqs == (1, 2)
    assert (await talk.state()).next_seq == 3
    assert relay.cuts == 1


async def test_a_server_that_is_away_is_one_error(unused_tcp_port: int) -> None:
    async with foja_client.connect(f"http://127.0.0.1:{unused_tcp_port}", retry_seconds=0.3) as client:
        talk = await client.conversations.open()
        with pytest.raises(errors.Unavailable, match="does not answer"):
            await talk.append(SAY, HI)


async def test_follow_resumes_after_cuts_and_repeats_nothing(
    app: App, relayed: tuple[Client, CutRelay]
) -> None:
    client, relay = relayed
    talk = await client.conversations.open()
    own = await app.conversations.open(talk.id)
    await own.append(SAY, {"content": "0"})
    found: list[Event] = []

    async with asyncio.timeout(60), aclosing(talk.follow()) as items:
        async for item in items:
            if not isinstance(item, Event):
                continue
            found.append(item)
            if len(found) == 30:
                break
            if len(found) % 7 == 0:
                relay.cut()
            await own.append(SAY, {"content": str(len(found))})
    assert relay.cuts >= 4
    assert [each.seq for each in found] == list(range(30))
    assert found[3].payload == {"content": "3"}


async def test_follow_shows_holes_transients_and_resets(app: App, relayed: tuple[Client, CutRelay]) -> None:
    client, relay = relayed
    talk = await client.conversations.open()
    own = await app.conversations.open(talk.id)
    await own.append(SAY, HI)
    slots = await own.reserve(2, ttl=60)
    await slots.fill(1, SAY, {"content": "late"})
    seen: list[tuple[int | None, str]] = []
    async with asyncio.timeout(60), aclosing(talk.follow(after="otherepoch:5")) as items:
        async for item in items:
            if isinstance(item, Reset):
                seen.append((None, "reset"))
                continue
            seen.append((item.seq, item.kind))
            if item.seq == 2 and item.kind == SAY:
                relay.cut()  # the resume sends everything above the hole again
                await slots.fill(0, SAY, {"content": "early"})
            if item.seq == 1 and item.kind == SAY:
                await own.emit("message_chunk", {"text": "x"}, turn="t", block_index=0, event_index=0)
            if item.kind == "message_chunk":
                break
    assert seen == [(None, "reset"), (0, SAY), (1, "slot.open"), (2, SAY), (1, SAY), (None, "message_chunk")]


async def test_what_the_server_refuses_ends_a_stream(client: Client) -> None:
    stream = client.stream("nothing_like_it", uuid4())
    async with asyncio.timeout(30), aclosing(stream.follow()) as items:
        with pytest.raises(errors.UnknownDomain):
            await anext(items)


async def test_keys_and_scopes(app: App, url: str) -> None:
    writer = await app.access.keys.create("default", ["read", "write"])
    reader = await app.access.keys.create("default", ["read"])
    async with (
        foja_client.connect(url, key=writer.text) as client,
        foja_client.connect(url, key=reader.text) as other,
        foja_client.connect(url) as stranger,
    ):
        talk = await client.conversations.open()
        event = await talk.append(SAY, HI)
        assert event.actor == f"key:{writer.id}"
        same = await other.conversations.open(talk.id)
        assert [each.seq for each in await same.events()] == [0]
        with pytest.raises(errors.NotAllowed, match="write"):
            await same.append(SAY, HI)
        with pytest.raises(errors.NotAuthenticated):
            await (await stranger.conversations.open(talk.id)).events()
        async with asyncio.timeout(60), aclosing(same.follow()) as items:
            assert (await anext(items)).seq == 0
            await app.access.keys.revoke(reader.id)
            with pytest.raises(errors.NotAuthenticated):
                await anext(items)


async def test_a_secret_is_shown_once(client: Client) -> None:
    await client.webhooks.create("https://example.org/x", kinds=[SAY], idempotency_key="k")
    with pytest.raises(errors.IdempotencyConflict, match="shown once"):
        await client.webhooks.create("https://example.org/x", kinds=[SAY], idempotency_key="k")


async def test_keys_sessions_and_names(app: App, url: str) -> None:
    root = await app.access.keys.create("default", ["admin"], name="Ana", installation=True)
    async with foja_client.connect(url, key=root.text) as client:
        me = await client.access.me()
        assert (me.actor, me.name, me.credential) == (f"key:{root.id}", "Ana", "key")
        assert (await client.access.names([me.actor, "local:eva", "user:x"])).names == {
            me.actor: "Ana",
            "local:eva": "eva",
        }
        made = {
            end: await client.access.create_key("read", name=str(end), tenant="acme", expires_at=end)
            for end in ("90d", "never", None)
        }
        ends = {each.name: each.expires_at for each in await client.access.keys(tenant="acme")}
        assert (ends["never"], ends["None"]) == (None, None)
        assert ends["90d"] is not None
        assert abs(ends["90d"] - datetime.now(UTC) - timedelta(days=90)) < timedelta(minutes=5)
        assert {each.tenant for each in await client.access.keys(tenant="acme")} == {"acme"}
        assert len(await client.access.keys()) == 4
        rotated = await client.access.rotate_key(made["90d"].id, overlap_seconds=0)
        assert rotated.key != made["90d"].key
        assert (await client.access.revoke_key(rotated.id)).revoked
        assert not (await client.access.revoke_key(rotated.id)).revoked
        assert [*await client.access.sessions()] == []
    mine = await app.access.keys.create("acme", ["admin"])
    async with foja_client.connect(url, key=mine.text) as client:
        assert {each.tenant for each in await client.access.keys()} == {"acme"}
        with pytest.raises(errors.NotAllowed):
            await client.access.keys(tenant="default")


async def test_the_log_is_proven_and_trusted(app: App, client: Client) -> None:
    talk = await client.conversations.open()
    await talk.append(SAY, HI)
    await app.publish()
    head, trust = await client.log.head(), await client.log.trust()
    assert head.key == trust[0]
    proof = await client.log.prove(talk.id, 0)
    assert (proof, proof.size) == (await talk.prove(0), head.size)
    assert proof.verify(trust).verdict == "TOTAL_PASSED"
    assert (await client.verify(proof.file(), trust=trust)).verdict == "TOTAL_PASSED"
    assert [*await client.log.anchored()] == []


def test_it_imports_without_the_server() -> None:
    """Everything of the extras `demo` and `server` except httpx is hidden from a fresh interpreter."""
    program = """
import sys
HIDDEN = {"starlette", "uvicorn", "psycopg", "psycopg_pool", "pydantic", "pydantic_settings",
          "redis", "obstore", "orjson", "prometheus_client", "platformdirs", "rich", "PIL", "fpdf", "pyvips"}
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Hide())
import foja.client
client = foja.client.connect("http://127.0.0.1:1")
print(type(client.conversations).__name__, type(client.documents).__name__)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "Conversations Documents"), ran.stderr
