"""One act needs one scope and names its caller, by whatever way; errors tell nothing of others."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from uuid import uuid4

import psycopg
import pytest

from foja.app import App
from foja.engine.remote.notice import post_notice
from foja.engine.remote.webhook import NoAnswer, WebhookSender
from foja.errors import Unavailable
from tests.flow.access.access_scene import bearer, form_token, log_in, make_key, origin
from tests.flow.client.client import SAY, served
from tests.job_domain import RUN, install
from tests.png import png


@pytest.mark.parametrize(("scope", "status"), [("retry", 303), ("operate", 403)])
async def test_a_retry_needs_the_same_scope_everywhere(
    app: App, admin: psycopg.Connection[object], scope: str, status: int
) -> None:
    """The page asked for `retry`, the API for `operate`."""
    install(admin)
    stream = uuid4()
    values = [stream]
    admin.execute("select foja.append_event(%s, 'errand', 'errand.asked', '{\"what\": \"milk\"}')", values)
    await app.jobs.enqueue(RUN, stream, key="k", delay=3600)
    job = (await app.jobs.list(job_type=RUN))[0].id
    key = await make_key(app, ["read", scope])
    async with served(app) as client:
        api = await client.post(f"/v1/jobs/{job}/retry", headers=bearer(key))
        many = await client.post("/v1/jobs/retry", headers=bearer(key), json={"ids": [job]})
        assert {api.status_code, many.status_code} == {200 if status == 303 else 403}
        await log_in(client, key)
        page = await client.get("/jobs", params={"state": "retry_scheduled"})
        assert page.status_code == 200
        assert (f"/jobs/{job}/cancel" in (await client.get("/jobs")).text) == (scope == "operate")


@pytest.mark.parametrize("scope", ["retry", "write", "operate"])
async def test_rendering_again_is_a_retry_everywhere(app: App, scope: str) -> None:
    """An image was rendered again with `write`, all that failed with `retry`."""
    product = uuid4()
    image = await app.images.add(product, png())
    key = await make_key(app, ["read", scope])
    one, page = f"/v1/products/{product}/images", f"/galleries/{product}"
    async with served(app) as client:
        api = [
            await client.post(path, headers=bearer(key), json=body)
            for path, body in (
                (f"{one}/{image.id}/render", None),
                (f"{one}/render", None),
                ("/v1/maintenance/retry", {"what": ["images"]}),
            )
        ]
        await log_in(client, key)
        shown = await client.get(page)
        button = f"{page}/{image.id}/render"
        form = {"form_token": form_token(await client.get("/login"))}
        pressed = await client.post(button, data=form, headers=origin(client))
    may = scope == "retry"
    assert {each.status_code for each in api} == {200 if may else 403}
    assert (button in shown.text, pressed.status_code) == (may, 303 if may else 403)


async def test_protecting_a_stream_names_who_did_it(app: App) -> None:
    """A document recorded its actor, a protected conversation and a gallery none."""
    key = await make_key(app, ["read", "write"], installation=True)
    product = uuid4()
    async with served(app) as client:
        client.headers.update(bearer(key))
        event = {"kind": SAY, "payload": {"content": "hello"}}
        talk = (await client.post("/v1/conversations", json={"event": event})).json()["id"]
        await client.post(f"/v1/products/{product}/images", json={"url": "https://cdn.example/1"})
        await app.publish()
        me = (await client.get("/v1/access/me")).json()["actor"]
        for address in (f"/v1/conversations/{talk}", f"/v1/products/{product}"):
            added = await client.post(f"{address}/protect", json={})
            events = (await client.get(f"/v1/documents/{added.json()['id']}/events")).json()["events"]
            assert [each["actor"] for each in events] == [me, me]


async def test_a_foreign_product_answers_as_an_unknown_one(app: App) -> None:
    """The errors differed, and told whether another tenant has a product."""
    foreign, unknown, image = uuid4(), uuid4(), uuid4()
    await app.tenant("other").images.add_url(foreign, "https://cdn.example/1")
    async with served(app) as client:
        for method, path, body in (
            ("GET", "images", None),
            ("GET", f"images/{image}", None),
            ("POST", f"images/{image}/move", {"to": 0}),
            ("POST", f"images/{image}/describe", {"alt": "a"}),
            ("DELETE", f"images/{image}", None),
            ("POST", "protect", {}),
            ("POST", f"images/{image}/render", None),
        ):
            answers = [
                await client.request(method, f"/v1/products/{product}/{path}", json=body)
                for product in (foreign, unknown)
            ]
            shown = [
                (each.status_code, each.text.replace(str(product), "ID"))
                for each, product in zip(answers, (foreign, unknown), strict=True)
            ]
            assert shown[0] == shown[1], (method, path)


async def test_an_error_shows_no_secret_and_no_inside_address() -> None:
    """`foja alerts test` printed the token of a webhook, and deliveries the address behind a name."""
    with pytest.raises(Unavailable) as refused:
        await post_notice("http://u:pw@127.0.0.1:9/hooks/T0K3N?token=abc", {}, "1", seconds=5)
    assert "http://127.0.0.1:9/…" in str(refused.value)
    assert not {"T0K3N", "abc", "pw"} & {
        each for each in ("T0K3N", "abc", "pw") if each in str(refused.value)
    }

    async def inside(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    for refusal in ("private", None):
        sender = WebhookSender(_always(refusal), timeout_seconds=5, lookup=inside)
        reply = await sender.post("http://hooks.example:9/", {}, b"{}")
        await sender.aclose()
        assert isinstance(reply, NoAnswer)
        assert "127.0.0.1" not in reply.detail, reply.detail


def _always(reason: str | None) -> Callable[[str, bool], str | None]:
    return lambda _address, _encrypted: reason


async def test_a_name_that_cannot_be_recorded_is_refused_before_the_bytes(app: App) -> None:
    """An upload with U+0000 in its name was refused after its last byte."""
    name = b64encode(b"a\0b").decode()
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "5", "Upload-Metadata": f"filename {name}"}
    async with served(app) as client:
        answer = await client.post("/v1/uploads", headers=headers)
    assert (answer.status_code, "U+0000" in json.loads(answer.text)["detail"]) == (400, True)
