"""Every act of the API that makes something makes it once under an Idempotency-Key.

`POST …/images {"url"}` twice made two images, and `POST /v1/conversations {"event"}` two conversations.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.app import App
from tests.flow.access.access_scene import bearer, make_key
from tests.flow.http.keyed_acts import (
    FILL,
    GALLERY,
    IMAGE,
    PAPER,
    SECRET,
    STREAM,
    TALK,
    TUS,
    Act,
    Scene,
    acts,
    code_of,
    event,
    making,
    opened,
    recorded,
    stable,
)
from tests.job_domain import RUN

# What these make is the same for all people of a tenant, with or without a key.
SAME_FOR_ALL = {
    *("/v1/documents", "/v1/documents/batch", "/v1/jobs"),
    *(f"{each}/protect" for each in (PAPER, TALK, GALLERY, STREAM)),
}

# Each is wanted again: a secret whose answer was lost is rotated again, a run is another run.
AGAIN = {
    *("/v1/access/keys/{key_id}/rotate", "/v1/webhooks/{webhook_id}/rotate"),
    *("/v1/webhooks/{webhook_id}/replay", "/v1/maintenance/cleanup", "/v1/maintenance/purge"),
}
# They need a network, a person's session, an agent, a quarantined object, an older checkpoint or a kind
# of your own that may be erased.
NOT_SENT = {
    *(f"/v1/anchors/{{network}}/{act}" for act in ("flush", "enable", "disable")),
    *("/v1/access/sessions/{session_id}/revoke", f"{TALK}/ag-ui", "/v1/log/receipt", "/v1/verify"),
    *("/v1/maintenance/restore", "/v1/maintenance/purge/object", f"{STREAM}/events/{{seq}}/erase"),
}


@pytest.fixture
async def scene(
    open_app: Callable[..., App], admin: psycopg.Connection[Any], tmp_path: Path
) -> AsyncIterator[Scene]:
    async with opened(open_app, admin, tmp_path) as scene:
        yield scene


async def test_each_act_that_makes_something_makes_it_once(
    scene: Scene, admin: psycopg.Connection[Any]
) -> None:
    """The same key answers the same; with another body it is a typed conflict, and nothing is made.

    What makes something answers 201, and 200 when it is repeated: a conversation and an image answered 201.
    """
    wanted = acts(scene.names)
    assert wanted.keys() == making(scene.api.document)
    for path, act in wanted.items():
        first = await scene.send(path, act, act.body)
        assert first.is_success, (path, first.text)
        made = recorded(admin)
        again = await scene.send(path, act, act.body)
        if path in SECRET:
            assert (again.status_code, code_of(again)) == (409, "idempotency_conflict"), path
        else:
            assert (stable(again), recorded(admin)) == (stable(first), made), path
            assert (first.status_code, again.status_code) == (declared(scene, path), 200), path
        if path == "/v1/uploads":
            act = Act(None, None, {**TUS, "Upload-Length": "6"})
        other = await scene.send(path, act, act.other)
        assert (code_of(other), recorded(admin)) == ("idempotency_conflict", made), path
        if path.startswith(PAPER):
            await scene.new_document(protected=False)


async def test_what_takes_no_key_makes_nothing_a_second_time(
    scene: Scene, admin: psycopg.Connection[Any]
) -> None:
    """A new act of the API is in one of these lists, or takes a key."""
    talk, jobs = scene.names["conversation_id"], scene.app.jobs
    asked = await scene.post(f"/v1/conversations/{talk}/approvals", {"tool_name": "pay", "tool_args": {}})
    key = await scene.post("/v1/access/keys", {"scopes": ["read"]})
    await jobs.enqueue(RUN, UUID(scene.names["stream_id"]), key="k", delay=3600)
    job = (await jobs.list(job_type=RUN))[0].id
    scene.names |= {"approval_id": asked["id"], "key_id": key["id"], "job_id": str(job), "job_type": RUN}
    sent: dict[str, Any] = {
        f"{TALK}/transients": {"kind": "message_chunk", "payload": {"text": "a"}},
        f"{TALK}/approvals/{{approval_id}}": {"decision": "approved"},
        f"{TALK}/slots/{{token}}/extend": {"ttl": 700},
        f"{FILL}/void": {"reason": "a"},
        f"{TALK}/events/{{seq}}/erase": {"reason": "a"},
        f"{PAPER}/erase": {"reason": "a"},
        f"{GALLERY}/images/render": None,
        f"{IMAGE}/render": None,
        "/v1/jobs/{job_id}/retry": None,
        "/v1/jobs/retry": {"ids": [job]},
        "/v1/jobs/types/{job_type}/pause": None,
        "/v1/jobs/types/{job_type}/resume": None,
        "/v1/jobs/{job_id}/cancel": None,
        "/v1/jobs/cancel": {"ids": [job]},
        "/v1/maintenance/retry": {"what": ["images"]},
        "/v1/access/keys/{key_id}/revoke": None,
    }
    posts = {path for path, methods in scene.api.document["paths"].items() if "post" in methods}
    assert posts - making(scene.api.document) == sent.keys() | AGAIN | NOT_SENT
    for path, body in sent.items():
        names = scene.names | ({"seq": "0"} if path.endswith("/events/{seq}/erase") else {})
        address = path.format(**names)
        made = []
        for _ in range(2):
            answer = await scene.api.client.post(address, json=body)
            assert answer.is_success, (path, answer.text)
            made.append(recorded(admin))
        assert made[0] == made[1], path


def declared(scene: Scene, path: str) -> int:
    """Return the status that the OpenAPI document has for what an act makes; with 201 it also has 200."""
    answers = scene.api.document["paths"][path]["post"]["responses"]
    assert "200" in answers, path
    return 201 if "201" in answers else 200


async def test_bytes_are_compared_and_not_stored_again(scene: Scene) -> None:
    """A file under a key: the same bytes are the same document, other bytes a conflict."""
    file, key = {"Content-Type": "application/octet-stream"}, {"Idempotency-Key": "file"}
    client = scene.api.client
    answers = [
        await client.post("/v1/documents", content=each, headers=file | key) for each in (b"a", b"a", b"b")
    ]
    assert [each.status_code for each in answers] == [201, 200, 409]
    assert answers[0].json()["id"] == answers[1].json()["id"]


async def test_a_conversation_without_an_event_is_opened_once(scene: Scene) -> None:
    client, key = scene.api.client, {"Idempotency-Key": "empty"}
    answers = [
        await client.post("/v1/conversations", json=each, headers=key)
        for each in ({}, {}, {"id": str(uuid4())})
    ]
    assert [each.status_code for each in answers] == [201, 200, 409]
    assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize("tenant", [None, "other"])
async def test_a_key_never_answers_with_what_another_made(scene: Scene, tenant: str | None) -> None:
    """Two people of a tenant, or of two tenants, send the same requests under the same keys."""
    own = {} if tenant is None else {"tenant": tenant}
    other = bearer(await make_key(scene.app, ["admin"], name="Eva Sanz", **own))
    for path, act in acts(scene.names).items():
        mine = await scene.send(path, act, act.body)
        theirs = await scene.send(path, replace(act, headers={**act.headers, **other}), act.body)
        assert mine.is_success, path
        if not theirs.is_success:
            assert theirs.status_code in {404, 409, 410}, (path, theirs.text)
        elif tenant or path not in SAME_FOR_ALL:
            assert stable(theirs) != stable(mine), path
        if path.startswith(PAPER):
            await scene.new_document(protected=False)


async def test_a_key_is_of_its_principal_and_address(scene: Scene) -> None:
    """In Python `add_url` had no key; a key of one gallery says nothing about another."""
    one, two = uuid4(), uuid4()
    images = scene.app.images
    first = await images.add_url(one, "https://cdn.example/1", idempotency_key="k")
    assert (await images.add_url(one, "https://cdn.example/1", idempotency_key="k")).id == first.id
    assert (await images.add_url(two, "https://cdn.example/1", idempotency_key="k")).id != first.id
    answer = await scene.api.client.post(
        f"/v1/products/{one}/images?expected_seq=0", json={"url": "https://cdn.example/2"}
    )
    assert (answer.status_code, code_of(answer)) == (409, "wrong_expected_seq")


async def test_a_conversation_under_one_key_has_one_body(scene: Scene) -> None:
    """After `{}`, a body with an event or with another id was answered as if it were the same."""
    client, key = scene.api.client, {"Idempotency-Key": "talk"}
    bodies: list[dict[str, Any]] = [{}, {"event": event("a")}, {"id": str(uuid4())}, {}]
    answers = [await client.post("/v1/conversations", json=each, headers=key) for each in bodies]
    assert [each.status_code for each in answers] == [201, 409, 409, 200]
    assert {code_of(each) for each in answers[1:3]} == {"idempotency_conflict"}


async def test_a_request_has_one_key(scene: Scene) -> None:
    """Of two headers Idempotency-Key one was used, and it was not said which."""
    headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    refused = await scene.api.client.post("/v1/conversations", json={}, headers=headers)
    assert refused.status_code == 400
    assert "idempotency-key is repeated; send it once" in refused.text
