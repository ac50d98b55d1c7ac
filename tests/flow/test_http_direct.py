"""The appends that bypass FastAPI answer exactly as the routes that describe them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest

from foja.app import App
from foja.ledger.event import event_of
from foja.metrics import HTTP_REQUESTS
from foja.web import application
from foja.web.streams.appends import describe_event
from foja.web.transfer.encoder import JsonAnswer
from tests.cases import all_cases
from tests.flow.client import served
from tests.flow.test_http import message

ONE = "/v1/conversations/0190b8f0-0000-7000-8000-000000000001/events"
CHANGING = ("id", "at", "seq", "cursor")


@pytest.fixture
async def both(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """A client of the server as it is, and of one in which FastAPI answers everything."""
    async with served(app) as direct:
        monkeypatch.setattr(application, "DirectAppends", lambda web, ctx: web)
        async with served(app) as routed:
            yield direct, routed


@all_cases(
    ("path", "sent"),
    [
        (ONE, {"json": message("x")}),
        (ONE, {"json": {**message("x"), "payload": {"content": "x", "big": 10**22, "half": 0.5}}}),
        (ONE, {"json": message("x"), "headers": {"Idempotency-Key": ""}}),
        (ONE, {"json": message("x"), "headers": {"Idempotency-Key": "k" * 256}}),
        (ONE, {"json": {**message("x"), "expected_seq": 99}}),
        (ONE, {"json": {"kind": "nothing", "payload": {}}}),
        (ONE, {"json": {"kind": "user_message_sent"}}),
        (ONE, {"json": {**message("x"), "more": 1}}),
        (ONE, {"content": b"{"}),
        (ONE, {"content": b"{", "headers": {"Content-Type": "application/json"}}),
        (ONE, {"content": b" " * 5_000_000, "headers": {"Content-Type": "application/json"}}),
        ("/v1/conversations/nothing/events", {"json": message("x")}),
        (f"{ONE}/batch", {"json": {"events": [message("a"), {"kind": "nothing", "payload": {}}]}}),
        (f"{ONE}/batch", {"json": {"events": [message("a")], "atomic": True}}),
        (f"{ONE}/batch", {"json": {"events": []}}),
        (f"{ONE}/batch", {"json": {"events": [{**message("a"), "expected_seq": 5}] * 2, "atomic": True}}),
    ],
)
async def test_both_ways_answer_alike(
    both: tuple[httpx.AsyncClient, httpx.AsyncClient], path: str, sent: dict[str, Any]
) -> None:
    direct, routed = [await client.post(path, **sent) for client in both]
    assert direct.status_code == routed.status_code
    assert direct.headers["content-type"] == routed.headers["content-type"]
    assert _settled(direct.json()) == _settled(routed.json())


async def test_a_stream_of_another_domain_is_unknown_both_ways(
    app: App, both: tuple[httpx.AsyncClient, httpx.AsyncClient]
) -> None:
    document = await app.documents.add(b"x")
    for client in both:
        answer = await client.post(f"/v1/conversations/{document.id}/events", json=message("x"))
        assert (answer.status_code, answer.json()["error"]) == (404, "UnknownEntity")


async def test_both_ways_are_counted_under_the_same_route(
    app: App, both: tuple[httpx.AsyncClient, httpx.AsyncClient]
) -> None:
    def counted(route: str) -> float:
        found = HTTP_REQUESTS.labels("POST", f"/v1/conversations/{{conversation_id}}/{route}", "201")
        return found._value.get()  # type: ignore[no-any-return]

    before = {route: counted(route) for route in ("events", "events/batch")}
    for client in both:
        await client.post(ONE, json=message("x"))
        await client.post(f"{ONE}/batch", json={"events": [message("a")]})
    assert {route: counted(route) - count for route, count in before.items()} == {
        "events": 2,
        "events/batch": 2,
    }


def test_an_event_is_written_as_its_envelope() -> None:
    for moment in (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, 67, tzinfo=UTC), None):
        for payload in ({"n": 0.5, "text": "ñ"}, {"n": 10**22}, None):
            event = event_of(uuid4(), 3, uuid4(), "k", 1, moment, None, "api", payload, b"", "e:3")
            assert json.loads(bytes(JsonAnswer(describe_event(event)).body)) == event.envelope()


def _settled(value: Any) -> Any:
    """Return an answer without what differs between two appends."""
    if isinstance(value, dict):
        return {name: _settled(each) for name, each in value.items() if name not in CHANGING}
    return [_settled(each) for each in value] if isinstance(value, list) else value
