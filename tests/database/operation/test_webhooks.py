"""Webhooks over a real database: what is planned, in which order, for whom, and who may read what."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import LiteralString
from uuid import uuid4

import psycopg
import pytest
from standardwebhooks.webhooks import Webhook as Reference

from foja.app import App
from foja.engine import sql
from foja.errors import BadPayload, OutOfTurn, UnknownKind, UnknownWebhook
from foja.pure.models.system.events import DELIVER
from foja.pure.models.webhooks.view import Replayed
from tests.counterparties.receiver import Receiver, running_receiver
from tests.database.schema.rows import SAID, Admin
from tests.tenant_acts import tenant_acts

LOOPBACK = "127.0.0.0/8"


@pytest.fixture
async def app(open_app: Callable[..., App]) -> AsyncIterator[App]:
    async with open_app(webhook_networks=LOOPBACK) as app:
        yield app


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with running_receiver() as receiver:
        yield receiver


async def changes(app: App) -> list[tuple[str, str | None]]:
    return [(event.payload["change"], event.actor) for event in await tenant_acts(app, "webhook.changed")]


async def say(app: App, *texts: str) -> None:
    talk = await app.conversations.open()
    for text in texts:
        await talk.append("user_message_sent", {"content": text})


async def test_events_of_the_chosen_kinds_arrive_signed_and_in_order(app: App, receiver: Receiver) -> None:
    hook = await app.webhooks.create(receiver.url(), ["user_*"], include_payload=True, actor="ana")
    talk = await app.conversations.open()
    for number in range(5):
        await talk.append("user_message_sent", {"content": f"m{number}"}, actor="bob")
        await talk.append("agent_message_sent", {"content": "no"})
    await app.work(until_idle=True)
    assert sorted(receiver.seqs) == [0, 2, 4, 6, 8]
    assert hook.secret is not None
    for each in receiver.received:
        message = Reference(hook.secret).verify(each.body.decode(), dict(each.headers))
        assert message["id"] == each.headers["webhook-id"]
        assert (message["kind"], message["tenant"]) == ("user_message_sent", "default")
        assert message["payload"] == {"content": f"m{message['seq'] // 2}"}
        assert message["actor"] == "bob"
    found = await app.webhooks.deliveries(hook.id)
    assert [each.state for each in found] == ["delivered"] * 5
    delivery = await app.webhooks.delivery(hook.id, found[0].id)
    assert (delivery.attempts, [each.status for each in delivery.log]) == (1, [204])
    assert (await app.webhooks.show(hook.id)).behind == 0
    assert await changes(app) == [("created", "ana")]


async def test_the_payload_stays_at_home_unless_it_is_asked_for(app: App, receiver: Receiver) -> None:
    await app.webhooks.create(receiver.url())
    await say(app, "private words")
    await app.work(until_idle=True)
    assert set(receiver.received[0].message) == {"id", "kind", "v", "tenant", "entity_id", "seq", "at"}


async def test_a_webhook_hears_of_changes_of_webhooks_if_it_names_them(app: App, receiver: Receiver) -> None:
    await app.webhooks.create(receiver.url("/star"), ["*"])
    await app.webhooks.create(receiver.url("/named"), ["webhook.changed"], include_payload=True)
    await app.webhooks.create(receiver.url("/other"), ["document.*"])
    await app.work(until_idle=True)
    assert {each.path for each in receiver.received} == {"/named"}


async def test_a_tenant_hears_only_of_itself(open_app: Callable[..., App], receiver: Receiver) -> None:
    async with open_app(webhook_networks=LOOPBACK, tenant="acme") as acme:
        await acme.webhooks.create(receiver.url("/acme"))
        await say(acme, "of acme")
    async with open_app(webhook_networks=LOOPBACK) as app:
        hook = await app.webhooks.create(receiver.url("/default"))
        await say(app, "of default", "again")
        await app.work(until_idle=True)
        with pytest.raises(UnknownWebhook):
            await app.webhooks.of("acme").show(hook.id)
        with pytest.raises(UnknownWebhook):
            await app.webhooks.of("acme").remove(hook.id)
        with pytest.raises(UnknownWebhook):
            await app.webhooks.of("acme").replay(hook.id, failed=True)
        assert [*await app.webhooks.list()] == [await app.webhooks.show(hook.id)]
    by_path = {each.path: each.message["tenant"] for each in receiver.received}
    assert by_path == {"/acme": "acme", "/default": "default"}
    assert len(receiver.received) == 3


async def test_it_begins_now_or_at_the_start_of_the_log(app: App, receiver: Receiver) -> None:
    await say(app, "before")
    await app.work(until_idle=True)
    await app.webhooks.create(receiver.url("/now"))
    await app.webhooks.create(receiver.url("/start"), from_start=True)
    await say(app, "after")
    await app.work(until_idle=True)
    paths = [each.path for each in receiver.received]
    assert sorted(paths) == ["/now", "/start", "/start"]


async def test_a_restarted_log_loses_and_repeats_nothing(app: App, receiver: Receiver, admin: Admin) -> None:
    await app.webhooks.create(receiver.url())
    await say(app, "one", "two")
    await app.work(until_idle=True)
    await say(app, "three")
    await app.sequencer.number()  # in the old log, above its last checkpoint
    await app.sequencer.restart()
    await say(app, "four")
    await app.work(until_idle=True)
    assert len(receiver.received) == 4
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 4
    assert admin.execute("select origin from foja.webhook").fetchone() == (2,)


async def test_while_off_nothing_is_sent_and_nothing_is_lost(app: App, receiver: Receiver) -> None:
    hook = await app.webhooks.create(receiver.url())
    await say(app, "one")
    await app.publish()
    await app.sweeper.row(sql.query("plan_deliveries"), limit=10, open=10)
    off = await app.webhooks.switch(hook.id, on=False, reason="a pause", actor="ana")
    assert (off.state, off.off_reason, off.waiting) == ("off", "a pause", 1)
    await say(app, "two")
    await app.work(until_idle=True)
    assert receiver.received == []
    with pytest.raises(OutOfTurn):
        await app.webhooks.replay(hook.id, failed=True)
    await app.webhooks.switch(hook.id, on=True, actor="ana")
    await app.work(until_idle=True)
    assert len(receiver.received) == 2
    assert await changes(app) == [("created", None), ("switched_off", "ana"), ("switched_on", "ana")]


async def test_a_slow_webhook_leaves_the_rest_in_the_log(app: App, receiver: Receiver, admin: Admin) -> None:
    hook = await app.webhooks.create(receiver.url())
    await say(app, *map(str, range(30)))
    await app.publish()
    plan = sql.query("plan_deliveries")
    for _ in range(10):
        await app.sweeper.row(plan, limit=4, open=10)
    view = await app.webhooks.show(hook.id)
    assert (view.waiting, view.behind) == (11, 19), "the first leaf is the event of its creation"
    await app.work(until_idle=True)
    assert len(receiver.received) == 30
    assert len(await app.jobs.list(job_type=DELIVER)) < 30, "jobs carry batches"


async def test_a_rotation_signs_with_both_secrets(app: App, receiver: Receiver, admin: Admin) -> None:
    hook = await app.webhooks.create(receiver.url())
    rotated = await app.webhooks.rotate(hook.id, actor="ana")
    await say(app, "one")
    await app.work(until_idle=True)
    assert hook.secret
    assert rotated.secret
    assert hook.secret != rotated.secret
    first = receiver.received[0]
    assert len(first.headers["webhook-signature"].split()) == 2
    for secret in (hook.secret, rotated.secret):
        Reference(secret).verify(first.body.decode(), dict(first.headers))
    admin.execute(
        "update foja.webhook_secret set expires_at = clock_timestamp() where expires_at is not null"
    )
    await say(app, "two")
    await app.work(until_idle=True)
    assert len(receiver.received[1].headers["webhook-signature"].split()) == 1
    again = await app.webhooks.rotate(hook.id, overlap_seconds=0)
    await say(app, "three")
    await app.work(until_idle=True)
    assert again.secret
    Reference(again.secret).verify(receiver.received[2].body.decode(), dict(receiver.received[2].headers))
    assert len(receiver.received[2].headers["webhook-signature"].split()) == 1


async def test_replays_of_one_and_of_a_range(app: App, receiver: Receiver) -> None:
    hook = await app.webhooks.create(receiver.url())
    await say(app, "a", "b", "c")
    await app.work(until_idle=True)
    newest, middle, oldest = await app.webhooks.deliveries(hook.id)
    assert await app.webhooks.replay(hook.id, first=middle.id, last=middle.id, actor="ana") == Replayed(1)
    await app.work(until_idle=True)
    assert receiver.seqs[3:] == [1]
    assert receiver.received[3].headers["webhook-id"] in {
        each.headers["webhook-id"] for each in receiver.received[:3]
    }
    assert await app.webhooks.replay(hook.id, first=oldest.id, last=newest.id) == Replayed(3)
    await app.work(until_idle=True)
    assert len(receiver.received) == 7
    assert await app.webhooks.replay(hook.id, since=newest.created_at, until=newest.created_at) == Replayed(0)
    assert await app.webhooks.replay(hook.id, failed=True) == Replayed(0)
    with pytest.raises(BadPayload):
        await app.webhooks.replay(hook.id)
    assert await changes(app) == [("created", None), ("replayed", "ana"), ("replayed", None)]


async def test_change_and_remove(app: App, receiver: Receiver, admin: Admin) -> None:
    hook = await app.webhooks.create(receiver.url("/one?key=planted-secret"), description="first")
    changed = await app.webhooks.change(hook.id, url=receiver.url("/two"), kinds=["document.*"], actor="ana")
    assert (changed.url, list(changed.kinds), changed.description) == (
        receiver.url("/two"),
        ["document.*"],
        "first",
    )
    assert not hasattr(changed, "secret")
    await app.webhooks.remove(hook.id)
    assert not await app.webhooks.list()
    assert await changes(app) == [("created", None), ("changed", "ana"), ("removed", None)]
    recorded = str([event.payload for event in await tenant_acts(app, "webhook.changed")])
    assert "planted-secret" not in recorded
    assert f"http://127.0.0.1:{receiver.port}" in recorded
    assert hook.secret
    assert hook.secret not in recorded


async def test_what_cannot_be_is_refused(app: App) -> None:
    with pytest.raises(UnknownKind, match=r"documnt\.\*"):
        await app.webhooks.create("https://example.org/x", ["documnt.*"])
    with pytest.raises(BadPayload, match="10"):
        await app.webhooks.create("https://10.0.0.1/x")
    with pytest.raises(BadPayload):
        await app.webhooks.create("https://example.org/x", [])
    for call in (app.webhooks.show, app.webhooks.remove, app.webhooks.rotate, app.webhooks.deliveries):
        with pytest.raises(UnknownWebhook):
            await call(uuid4())
    assert not await app.webhooks.list()


def run_as(admin: Admin, role: str, statement: LiteralString) -> None:
    with admin.transaction():
        admin.execute(f"set local role {role}".encode())
        admin.execute(statement)


async def test_no_role_reads_the_secrets(app: App, admin: Admin) -> None:
    await app.webhooks.create("https://example.org/x")
    assert admin.execute("select count(*) from foja.webhook_secret").fetchone() == (1,)
    people = ("anon", "authenticated", "service_role")
    for role in (*people, "foja_api", "foja_sweeper", "foja_webhooks", "foja_worker"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run_as(admin, role, "select secret from foja.webhook_secret")
    for role in ("foja_api", "foja_sweeper", "foja_hygiene"):
        with pytest.raises(psycopg.Error, match=r"permission denied|wrong_source"):
            run_as(admin, role, "select * from foja.open_deliveries_v1('{}')")


async def test_old_deliveries_are_forgotten(
    open_app: Callable[..., App], receiver: Receiver, admin: Admin
) -> None:
    async with open_app(webhook_networks=LOOPBACK, webhook_log_seconds=60) as app:
        hook = await app.webhooks.create(receiver.url())
        await say(app, "old", "new")
        await app.work(until_idle=True)
        old = (await app.webhooks.deliveries(hook.id))[-1]
        admin.execute(
            "update foja.webhook_delivery set ended_at = ended_at - interval '1 hour' where delivery_id = %s",
            [old.id],
        )
        assert await app.sweeper.row(sql.query("forget_deliveries"), seconds=60, limit=10) == (1,)
        assert [each.seq for each in await app.webhooks.deliveries(hook.id)] == [1]
        with pytest.raises(UnknownWebhook):
            await app.webhooks.delivery(hook.id, old.id)
    assert admin.execute("select count(*) from foja.webhook_attempt").fetchone() == (1,)


async def test_an_erased_body_is_sent_as_erased(app: App, receiver: Receiver) -> None:
    hook = await app.webhooks.create(receiver.url(), ["user_message_sent"], include_payload=True)
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    await talk.erase(0, reason="asked for")
    await app.work(until_idle=True)
    assert receiver.received[0].message["payload"] is None
    assert len(await app.webhooks.deliveries(hook.id, state="delivered")) == 1
