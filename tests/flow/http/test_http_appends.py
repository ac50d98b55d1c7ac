"""Appends to conversations over HTTP: how they are counted, written, and refused for other domains."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import uuid4

from foja.app import App
from foja.engine.ledger.event import event_of
from foja.engine.metrics import HTTP_REQUESTS
from foja.interfaces.web.transfer.encoder import JsonAnswer
from tests.flow.client.client import served
from tests.flow.http.test_http import message

ONE = "/v1/conversations/0190b8f0-0000-7000-8000-000000000001/events"


async def test_a_stream_of_another_domain_is_unknown(app: App) -> None:
    document = await app.documents.add(b"x")
    async with served(app) as client:
        answer = await client.post(f"/v1/conversations/{document.id}/events", json=message("x"))
    assert (answer.status_code, answer.json()["error"]) == (404, "UnknownEntity")


async def test_each_append_is_counted_under_its_route(app: App) -> None:
    def counted(route: str) -> float:
        found = HTTP_REQUESTS.labels("POST", f"/v1/conversations/{{conversation_id}}/{route}", "201")
        return found._value.get()  # type: ignore[no-any-return]

    before = {route: counted(route) for route in ("events", "events/batch")}
    async with served(app) as client:
        await client.post(ONE, json=message("x"))
        await client.post(f"{ONE}/batch", json={"events": [message("a")]})
    assert {route: counted(route) - count for route, count in before.items()} == {
        "events": 1,
        "events/batch": 1,
    }


def test_an_event_is_written_as_its_envelope() -> None:
    for moment in (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, 67, tzinfo=UTC), None):
        for payload in ({"n": 0.5, "text": "ñ"}, {"n": 10**22}, None):
            event = event_of(uuid4(), 3, uuid4(), "k", 1, moment, None, "api", payload, b"", "e:3")
            assert json.loads(bytes(JsonAnswer(event).body)) == event.envelope()
