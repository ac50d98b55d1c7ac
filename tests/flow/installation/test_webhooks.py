"""Webhooks over HTTP and on the command line."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

import httpx
import pytest

import foja
from foja.app import App
from tests.cases import all_cases
from tests.counterparties.receiver import running_receiver
from tests.flow.access.access_scene import ME, bearer, make_key
from tests.flow.client.client import SAY, served
from tests.flow.command import Run, check_refused
from tests.tenant_acts import tenant_acts

LOOPBACK = "127.0.0.0/8"


@pytest.fixture
async def app(open_app: Callable[..., App]) -> AsyncIterator[App]:
    async with open_app(webhook_networks=LOOPBACK) as app:
        yield app


async def test_a_webhook_over_http_from_its_creation_to_its_removal(app: App) -> None:
    async with running_receiver() as receiver, served(app) as client:
        made = await client.post("/v1/webhooks", json={"url": receiver.url(), "kinds": [SAY]})
        assert made.status_code == 201
        hook = made.headers["location"]
        assert made.json()["secret"].startswith("whsec_")
        await client.post("/v1/conversations", json={"event": {"kind": SAY, "payload": {"content": "hi"}}})
        await app.work(until_idle=True)
        assert receiver.seqs == [0]
        shown = (await client.get(hook)).json()
        assert "secret" not in shown
        assert (await client.get("/v1/webhooks")).json() == {"webhooks": [shown]}
        [delivery] = (await client.get(f"{hook}/deliveries")).json()["deliveries"]
        assert (delivery["state"], delivery["status"]) == ("delivered", 204)
        whole = (await client.get(f"{hook}/deliveries/{delivery['id']}")).json()
        assert [each["status"] for each in whole["log"]] == [204]
        again = await client.post(f"{hook}/replay", json={"first": delivery["id"], "last": delivery["id"]})
        assert (again.status_code, again.json()) == (202, {"replayed": 1})
        await app.work(until_idle=True)
        assert receiver.seqs == [0, 0]
        off = await client.patch(hook, json={"state": "off", "reason": "moving", "kinds": ["document.*"]})
        assert (off.json()["off_reason"], off.json()["kinds"]) == ("moving", ["document.*"])
        rotated = await client.post(f"{hook}/rotate", json={})
        assert rotated.json()["secret"] != made.json()["secret"]
        assert (await client.delete(hook)).json()["removed"] is True
        gone = await client.get(hook)
        assert (gone.status_code, gone.json()["code"]) == (404, "unknown_webhook")
    assert {event.actor for event in await tenant_acts(app, "webhook.changed")} == {ME}


async def test_a_tenant_reads_what_was_done_about_its_webhooks_and_another_does_not(
    app: App, client: httpx.AsyncClient
) -> None:
    keys = {name: bearer(await make_key(app, ["admin"], tenant=name)) for name in ("acme", "other")}
    body = {"url": "https://example.org/secret-path", "kinds": [SAY]}
    made = await client.post("/v1/webhooks", json=body, headers=keys["acme"])
    found = {}
    for name, key in keys.items():
        [stream] = (await client.get("/v1/streams/system", headers=key)).json()["streams"]
        found[name] = await client.get(f"/v1/streams/system/{stream['id']}/events", headers=key)
    acts = {name: [event["kind"] for event in each.json()["events"]] for name, each in found.items()}
    assert acts == {"acme": ["access.changed", "webhook.changed"], "other": ["access.changed"]}
    event = found["acme"].json()["events"][1]
    assert event["actor"] == f"key:{keys['acme']['Authorization'].split('_')[1]}"
    assert (event["payload"]["webhook_id"], event["payload"]["change"]) == (made.json()["id"], "created")
    assert "secret-path" not in found["acme"].text
    assert [each.kind for each in await app.system.events()] == []


@all_cases(
    ("body", "code"),
    [
        ({"url": "https://10.0.0.1/"}, "bad_payload"),
        ({"url": "http://[::ffff:169.254.169.254]/"}, "bad_payload"),
        ({"url": "https://example.org/", "kinds": ["nothing.like.it"]}, "unknown_kind"),
        ({"url": "https://example.org/", "secret": "whsec_short"}, "bad_payload"),
        ({"url": "https://example.org/", "more": 1}, "bad_payload"),
    ],
)
async def test_what_is_refused_over_http(client: httpx.AsyncClient, body: object, code: str) -> None:
    refused = await client.post("/v1/webhooks", json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, code)


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with served(app) as client:
        yield client


async def test_an_unknown_webhook_and_a_bad_time(client: httpx.AsyncClient) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/deliveries"), ("GET", "/deliveries/1")):
        found = await client.request(method, f"/v1/webhooks/{uuid4()}{path}")
        assert (found.status_code, found.json()["code"]) == (404, "unknown_webhook")
    made = (await client.post("/v1/webhooks", json={"url": "https://example.org/"})).json()
    bad = await client.post(f"/v1/webhooks/{made['id']}/replay", json={"since": "yesterday"})
    assert bad.status_code == 422


def test_the_command(run: Run) -> None:
    made = run("webhooks", "create", "https://example.org/x", "--kind", "document.*", "--as", "ana", "--json")
    assert made.code == 0, made.err
    hook = made.document["id"]
    assert made.document["secret"].startswith("whsec_")
    assert run("webhooks", "list", "--json").document[0]["kinds"] == ["document.*"]
    assert hook in run("webhooks").out
    changed = run("webhooks", "change", hook, "--kind", "*", "--payload", "--json").document
    assert (changed["kinds"], changed["include_payload"]) == (["*"], True)
    assert run("webhooks", "off", hook, "--reason", "a test").code == 0
    assert "a test" in run("webhooks", "show", hook).out
    assert "delivered now" in run("webhooks", "on", hook).out
    assert "signs as well for 24 hours" in run("webhooks", "rotate", hook).out
    assert "no deliveries match" in run("webhooks", "deliveries", hook).out
    assert run("webhooks", "replay", hook, "--failed").code == 1
    assert run("webhooks", "remove", hook).code == 0
    check_refused(run("webhooks", "show", hook), 1, "there is no webhook")
    check_refused(run("webhooks", "create", "https://127.0.0.1/"), 1, "loopback")
    changes = [each["payload"]["change"] for each in events(run)]
    assert changes == ["created", "changed", "switched_off", "switched_on", "rotated", "removed"]


def events(run: Run) -> list[dict[str, dict[str, str]]]:
    async def read() -> list[dict[str, dict[str, str]]]:
        async with foja.connect(database_url=os.environ["FOJA_DATABASE_URL"]) as app:
            return [{"payload": each.payload} for each in await tenant_acts(app, "webhook.changed")]

    return asyncio.run(read())
