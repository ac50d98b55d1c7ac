"""The OpenAPI document describes what the server answers, and a page shows it to people."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import jsonschema
import pytest

from foja.app import App
from tests.flow.access.access_scene import bearer, make_key
from tests.flow.client.client import SAY, served
from tests.flow.http.test_http import TOOL, message, result

ONE = "/v1/conversations/{conversation_id}"


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with served(app) as client:
        yield client


@pytest.fixture
async def document(client: httpx.AsyncClient) -> dict[str, Any]:
    return dict((await client.get("/openapi.json")).json())


def references(value: Any) -> Iterator[str]:
    """Yield every `$ref` in a document."""
    if isinstance(value, dict):
        yield from (each for key, each in value.items() if key == "$ref")
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from references(each)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


async def test_every_reference_resolves(document: dict[str, Any]) -> None:
    """`JobsRetryBody` and all others."""
    found = set(references(document))
    assert "#/components/schemas/JobsRetryBody" in found
    for reference in found:
        value: Any = document
        for part in reference.removeprefix("#/").split("/"):
            value = value[part]
    assert "HTTPValidationError" not in json.dumps(document)


async def test_every_operation_has_a_success_and_problems(document: dict[str, Any]) -> None:
    """No schema is empty, and errors are problem documents."""
    for method, path, operation in operations(document):
        named = f"{method} {path}"
        answers = operation["responses"]
        successes = [answers[status] for status in answers if status.startswith("2")]
        assert successes, named
        for each in successes:
            assert all(content["schema"] for content in each.get("content", {}).values()), named
        for status in ("4XX", "5XX"):
            assert list(answers[status]["content"]) == ["application/problem+json"], named


async def test_every_operation_says_what_it_needs(app: App, document: dict[str, Any]) -> None:
    """The document named no scheme: generated clients sent no key."""
    assert document["openapi"].startswith("3.1")
    schemes = document["components"]["securitySchemes"]
    assert {name: (each["type"], each.get("scheme"), each.get("in")) for name, each in schemes.items()} == {
        "key": ("http", "bearer", None),
        "session": ("apiKey", None, "cookie"),
    }
    key = await make_key(app, ["read"])
    async with served(app) as stranger:
        assert (await stranger.get("/v1/access/me", headers=bearer(key))).status_code == 200
        for method, path, operation in operations(document):
            needed = operation["security"]
            assert set().union(*needed) <= {*schemes}, path
            answer = await stranger.request(method, re.sub(r"\{\w+\}", "1", path))
            assert (answer.status_code == 401) == (needed == [{"key": []}, {"session": []}]), (method, path)


def check(document: dict[str, Any], method: str, path: str, answer: httpx.Response) -> None:
    """Check an answer against the schema of its status."""
    answers = document["paths"][path][method]["responses"]
    status = str(answer.status_code)
    described = answers.get(status) or answers[f"{status[0]}XX"]
    schema = described["content"][answer.headers["content-type"].partition(";")[0]]["schema"]
    jsonschema.validate(answer.json(), {**schema, "components": document["components"]})


async def test_answers_are_as_described(client: httpx.AsyncClient, document: dict[str, Any]) -> None:
    """Each operation is called, and each answer has exactly the described fields."""
    called = set()

    async def call(method: str, path: str, status: int, body: Any = None, **more: Any) -> Any:
        values = {name: more.pop(name) for name in list(more) if f"{{{name}}}" in path}
        query = more.pop("query", "")
        answer = await client.request(method, path.format(**values) + query, json=body, **more)
        assert answer.status_code == status, answer.text
        check(document, method.lower(), path, answer)
        called.add((method.lower(), path))
        return answer.json()

    key = {"Idempotency-Key": "k"}
    opened = await call("POST", "/v1/conversations", 201, {"event": message("x")}, headers=key)
    first = {"id": opened["id"], "event": message("x")}
    await call("POST", "/v1/conversations", 200, first, headers=key)
    await call("POST", "/v1/conversations", 201, {})
    await call("POST", "/v1/conversations", 422, {"id": 7})
    await call("GET", "/v1/conversations", 200)
    one: dict[str, Any] = {"conversation_id": opened["id"]}
    await call("GET", ONE, 200, **one)
    await call("GET", ONE, 404, conversation_id="nothing")
    await call("POST", f"{ONE}/events", 201, message("y"), **one)
    await call("POST", f"{ONE}/events", 409, {**message("y"), "expected_seq": 0}, **one)
    slots = await call("POST", f"{ONE}/slots", 201, {"count": 3, "ttl": 60, "intents": ["a", 1, None]}, **one)
    await call("GET", f"{ONE}/events", 200, **one)
    await call("GET", f"{ONE}/events", 410, query="?after=garbage", **one)
    slot = {**one, "token": slots["token"]}
    await call("POST", f"{ONE}/slots/{{token}}/{{seq}}", 201, result("a"), **slot, seq=slots["seqs"][0])
    await call("POST", f"{ONE}/slots/{{token}}/{{seq}}", 200, result("a"), **slot, seq=slots["seqs"][0])
    await call("POST", f"{ONE}/slots/{{token}}/extend", 200, {"ttl": 60}, **slot)
    await call(
        "POST", f"{ONE}/slots/{{token}}/{{seq}}/void", 200, {"reason": "x"}, **slot, seq=slots["seqs"][1]
    )
    chunk = {"kind": "message_chunk", "payload": {"text": "x"}, "turn": 1, "block_index": 0}
    await call("POST", f"{ONE}/transients", 202, chunk, **one)
    request = {"tool_name": "refund", "tool_args": {"n": 1}, "approval_id": "a/1"}
    await call("POST", f"{ONE}/approvals", 201, request, **one)
    await call("GET", f"{ONE}/approvals/{{approval_id}}", 200, **one, approval_id="a/1")
    await call(
        "POST", f"{ONE}/approvals/{{approval_id}}", 200, {"decision": "denied"}, **one, approval_id="a/1"
    )
    await call("GET", f"{ONE}/approvals", 200, **one)
    await call("GET", "/v1/streams", 200)
    stream = {"domain": "conversation", "stream_id": opened["id"]}
    await call("GET", "/v1/streams/{domain}/{stream_id}", 200, **stream)
    await call("GET", "/v1/streams/{domain}/{stream_id}/events", 200, **stream)
    await call("POST", "/v1/streams/{domain}/{stream_id}/events", 422, message("x"), **stream)
    await call("GET", "/healthz", 200)
    await call("GET", "/readyz", 200)
    await call_webhooks(call)
    await call_access(call)  # the last one: from the first key on, every call needs one
    streamed = {"text/event-stream", "text/plain"}
    elsewhere = {"/batch", "/proof", "/erase", "/protect", "/v1/streams/{domain}"}  # other tests call them
    for method, path, operation in operations(document):
        kinds = {kind for status in operation["responses"].values() for kind in status.get("content", ())}
        if path.startswith(("/v1/conversations", "/v1/streams")) and not path.endswith((*elsewhere,)):
            assert (method, path) in called or kinds & streamed, f"{method} {path} was not called"


async def call_webhooks(call: Callable[..., Awaitable[Any]]) -> None:
    """Call each operation of webhooks."""
    path = "/v1/webhooks/{webhook_id}"
    made = await call("POST", "/v1/webhooks", 201, {"url": "https://example.org/"})
    await call("POST", "/v1/webhooks", 422, {"url": "https://10.0.0.1/"})
    hook = {"webhook_id": made["id"]}
    await call("GET", "/v1/webhooks", 200)
    await call("GET", path, 200, **hook)
    await call("PATCH", path, 200, {"description": "x", "state": "off"}, **hook)
    await call("POST", f"{path}/replay", 422, {"failed": True}, **hook)
    await call("PATCH", path, 200, {"state": "on"}, **hook)
    await call("POST", f"{path}/replay", 202, {"failed": True}, **hook)
    await call("POST", f"{path}/rotate", 200, {}, **hook)
    await call("GET", f"{path}/deliveries", 200, **hook)
    await call("GET", f"{path}/deliveries/{{number}}", 404, **hook, number=1)
    await call("DELETE", path, 200, **hook)


async def call_access(call: Callable[..., Awaitable[Any]]) -> None:
    """Call every route of access."""
    await call("GET", "/v1/access/me", 200)
    made = await call("POST", "/v1/access/keys", 201, {"scopes": ["admin"], "installation": True})
    access: dict[str, Any] = {"headers": {"Authorization": f"Bearer {made['key']}"}}
    await call("GET", "/v1/access/me", 401)
    await call("GET", "/v1/access/keys", 200, **access)
    await call("GET", "/v1/access/sessions", 200, **access)
    nobody = {**access, "session_id": str(uuid4())}
    await call("POST", "/v1/access/sessions/{session_id}/revoke", 404, **nobody)
    await call("POST", "/v1/access/keys/{key_id}/rotate", 200, {}, **access, key_id=made["id"])
    await call("POST", "/v1/access/keys/{key_id}/revoke", 200, **access, key_id=made["id"])


async def test_bodies_are_described_as_they_are_read(document: dict[str, Any]) -> None:
    """What is valid for the schema is accepted in form, and nothing else."""
    schema = {"$ref": "#/components/schemas/ConversationsCreateBody", "components": document["components"]}
    jsonschema.validate({"event": {"kind": SAY, "payload": {}, "actor": None, "v": 1}}, schema)
    for wrong in ({"event": {"kind": SAY}}, {"event": {"kind": TOOL, "payload": {}, "more": 1}}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


async def test_a_page_shows_every_operation(client: httpx.AsyncClient, document: dict[str, Any]) -> None:
    """`/docs`, in two languages, without any script."""
    english, spanish = (await client.get("/docs")), (await client.get("/docs?lang=es"))
    for answer, title in ((english, "HTTP reference"), (spanish, "Referencia HTTP")):
        assert answer.status_code == 200
        assert f"<h1>{title}</h1>" in answer.text
        assert "<script" not in answer.text
        assert not re.search(r'(src|href)="(https?:)?//', answer.text)
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        for method, path, _ in operations(document):
            assert f"<b>{method.upper()}</b> <code>{path}</code>" in answer.text
    assert "expected_seq" in english.text
