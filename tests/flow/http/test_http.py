"""Conversations over HTTP: an event is written once, and a bad request is a clear 4xx that writes nothing."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from foja import errors
from foja.app import App
from foja.errors import SetupFailed
from foja.interfaces.web.bodies import MAX_REQUEST_BYTES
from foja.interfaces.web.connection import MAX_DISCARDED_BYTES
from foja.interfaces.web.server import bind, bind_for
from tests.cases import all_cases
from tests.database.documents.papers import Paper
from tests.flow.client.client import SAY, served

TOOL = "tool_use_completed"
DEEP = b"[" * 80 + b"]" * 80
CHUNK = {"kind": "message_chunk", "payload": {"text": "x"}}


@pytest.fixture
async def app(open_app: Callable[..., App]) -> AsyncIterator[App]:
    """An App whose metrics are always new."""
    async with open_app(metrics_cache_seconds=0) as app:
        yield app


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with served(app) as client:
        yield client


@pytest.fixture
async def url(client: httpx.AsyncClient) -> str:
    """The address of a conversation with one event."""
    answer = await client.post("/v1/conversations", json={"event": message("hello")})
    assert answer.status_code == 201
    return str(answer.headers["location"])


def message(text: str) -> dict[str, Any]:
    return {"kind": SAY, "payload": {"content": text}}


def result(name: str) -> dict[str, Any]:
    done = {"tool_use_id": name, "tool_name": "search", "tool_result": [1], "success": True}
    return {"kind": TOOL, "payload": {**done, "error_message": None}}


def event(more: bytes) -> bytes:
    return b'{"kind":"user_message_sent","payload":{"content":"x"},%s}' % more


def body(more: bytes) -> bytes:
    return b'{"kind":"user_message_sent","payload":{"content":"x",%s}}' % more


def count(admin: psycopg.Connection[Any]) -> tuple[int, ...]:
    row = admin.execute(
        "select (select count(*) from foja.event), (select count(*) from foja.slot),"
        " (select coalesce(sum(next_seq), 0) from foja.entity)"
    ).fetchone()
    assert row is not None
    return tuple(row)


def check_problem(answer: httpx.Response, status: int, error: str | None = None) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    found = answer.json()
    assert found["status"] == status
    assert found["title"]
    assert len(found["detail"]) > 10
    assert found.get("error") == error
    assert found.get("code") == (getattr(errors, error).code if error else None)
    assert found["type"] == (f"urn:foja:{error}" if error else "about:blank")


async def test_append_reserve_fill_void_and_read(client: httpx.AsyncClient) -> None:
    opened = (await client.post("/v1/conversations", json={})).json()
    url = f"/v1/conversations/{opened['id']}"
    first = await client.post(f"{url}/events", json=message("ñ 😀"), headers={"Idempotency-Key": "m-1"})
    again = await client.post(f"{url}/events", json=message("ñ 😀"), headers={"Idempotency-Key": "m-1"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert first.json()["seq"] == 0
    expected = await client.post(f"{url}/events", json={**message("b"), "expected_seq": 1, "actor": "ana"})
    assert (expected.status_code, expected.json()["seq"], expected.json()["actor"]) == (201, 1, "ana")

    reservation = {"count": 3, "ttl": 60, "intents": ["a", "b", "c"]}
    slots = (await client.post(f"{url}/slots", json=reservation)).json()
    assert slots["seqs"] == [2, 3, 4]
    mine = f"{url}/slots/{slots['token']}"
    filled = [await client.post(f"{mine}/4", json=result("c")) for _ in range(2)]
    assert [answer.status_code for answer in filled] == [201, 200]
    assert filled[0].json()["id"] == filled[1].json()["id"]
    later = (await client.post(f"{mine}/extend", json={"ttl": 600})).json()
    assert later["deadline"] > slots["deadline"]
    void = await client.post(f"{mine}/2/void", json={"reason": "denied"})
    assert (void.status_code, void.json()["seq"]) == (200, 2)

    page = (await client.get(f"{url}/events")).json()
    assert [event["kind"] for event in page["events"]] == [SAY, SAY, "slot.voided", "slot.open", TOOL]
    assert page["events"][3]["payload"]["intent"] == "b"
    assert [event["cursor"] is None for event in page["events"]] == [False, False, False, True, True]
    assert page["cursor"].endswith(":2")
    await client.post(f"{mine}/3", json=result("b"))
    rest = (await client.get(page["next"])).json()
    assert [event["seq"] for event in rest["events"]] == [3]
    assert rest["cursor"].endswith(":4")
    state = (await client.get(url)).json()
    assert (state["id"], state["next_seq"]) == (opened["id"], 5)


async def test_pages_have_the_requested_length_and_a_next_address(
    client: httpx.AsyncClient, url: str
) -> None:
    for turn in range(6):
        await client.post(f"{url}/events", json=message(str(turn)))
    address, seen = f"{url}/events?limit=3", []
    for _ in range(3):
        page = (await client.get(address)).json()
        seen.append([event["seq"] for event in page["events"]])
        address = page["next"]
    assert seen == [[0, 1, 2], [3, 4, 5], [6]]
    assert (await client.get(address)).json()["events"] == []
    assert [e["seq"] for e in (await client.get(f"{url}/events?after=4")).json()["events"]] == [5, 6]


async def test_conversations_are_listed_newest_first(client: httpx.AsyncClient) -> None:
    made = []
    for _ in range(5):
        made.append((await client.post("/v1/conversations", json={"event": message("x")})).json()["id"])
        await asyncio.sleep(0.002)  # ids are in order of milliseconds
    first = (await client.get("/v1/conversations?limit=3")).json()
    second = (await client.get(first["next"])).json()
    found = [each["id"] for each in [*first["conversations"], *second["conversations"]]]
    assert (found, second["next"]) == (made[::-1], None)


async def test_a_client_may_choose_the_id(client: httpx.AsyncClient) -> None:
    own = str(uuid4())
    answer = await client.post("/v1/conversations", json={"id": own, "event": message("x")})
    assert (answer.status_code, answer.json()["id"]) == (201, own)
    assert answer.headers["location"] == f"/v1/conversations/{own}"


async def test_a_long_poll_ends_with_a_new_event(client: httpx.AsyncClient, url: str) -> None:
    page = (await client.get(f"{url}/events?wait=60")).json()
    waiting = asyncio.create_task(client.get(page["next"]))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    await client.post(f"{url}/events", json=message("new"))
    found = (await asyncio.wait_for(waiting, 60)).json()
    assert [event["seq"] for event in found["events"]] == [1]
    empty = await client.get(f"{url}/events?after=1&wait=0.2")
    assert empty.json()["events"] == []


async def test_a_long_poll_above_an_open_slot_waits_and_misses_no_fill(
    client: httpx.AsyncClient, url: str
) -> None:
    slots = (await client.post(f"{url}/slots", json={"count": 1, "ttl": 60})).json()
    await client.post(f"{url}/events", json=message("above"))
    page = (await client.get(f"{url}/events?wait=60")).json()
    assert [event["seq"] for event in page["events"]] == [0, 1, 2]
    waiting = asyncio.create_task(client.get(page["next"]))
    await asyncio.sleep(0.3)
    assert not waiting.done(), "the same page came again"
    await client.post(f"{url}/slots/{slots['token']}/1", json=result("a"))
    found = (await asyncio.wait_for(waiting, 60)).json()
    assert [(event["seq"], event["kind"]) for event in found["events"]] == [(1, TOOL)]
    # Filled between two polls: the next address still lists it as open.
    assert [e["seq"] for e in (await client.get(page["next"])).json()["events"]] == [1]


@all_cases(
    ("sent", "status", "error"),
    [
        (b"", 400, "NotCanonical"),
        (b"{", 400, "NotCanonical"),
        (b"\xff\xfe", 400, "NotCanonical"),
        (b"[]", 422, "BadPayload"),
        (b'"text"', 422, "BadPayload"),
        (b"{}", 422, "BadPayload"),
        (b'{"kind":"user_message_sent"}', 422, "BadPayload"),
        (b'{"kind":7,"payload":{}}', 422, "BadPayload"),
        (b'{"kind":"user_message_sent","payload":[]}', 422, "BadPayload"),
        (b'{"kind":"user_message_sent","payload":{}}', 422, "BadPayload"),
        (b'{"kind":"user_message_sent","payload":{"content":7}}', 422, "BadPayload"),
        (event(b'"v":"1"'), 422, "BadPayload"),
        (event(b'"v":2'), 422, "UnknownKind"),
        (event(b'"actor":[]'), 422, "BadPayload"),
        (event(b'"sequence":9'), 422, "BadPayload"),
        (event(b'"expected_seq":true'), 422, "BadPayload"),
        (event(b'"expected_seq":-1'), 409, "WrongExpectedSeq"),
        (event(b'"expected_seq":0'), 409, "WrongExpectedSeq"),
        (event(b'"expected_seq":9'), 409, "WrongExpectedSeq"),
        (body(b'"content":"y"'), 400, "NotCanonical"),
        (body(b'"n":NaN'), 400, "NotCanonical"),
        (body(b'"n":-Infinity'), 400, "NotCanonical"),
        (body(b'"n":1e999'), 400, "NotCanonical"),
        (body(b'"n":9007199254740993'), 400, "NotCanonical"),
        (b'{"kind":"user_message_sent","payload":{"content":"a\\u0000b"}}', 400, "NotCanonical"),
        (b'{"kind":"user_message_sent","payload":{"content":"\\ud800"}}', 400, "NotCanonical"),
        (body(b'"deep":%s' % DEEP), 400, "NotCanonical"),
        (body(b'"deep":%s' % (b"[" * 200_000)), 400, "NotCanonical"),
        (b'{"kind":"no_such_kind","payload":{}}', 422, "UnknownKind"),
        (b'{"kind":"message_chunk","payload":{"text":"x"}}', 422, "UnknownKind"),
        (b'{"kind":"slot.voided","payload":{"reason":"x"}}', 422, "UnknownKind"),
        (b'{"kind":"slot.open","payload":{}}', 422, "UnknownKind"),
        (b'{"kind":"body.erased","payload":{"seq":0,"reason":"x"}}', 422, "UnknownKind"),
        (b'{"kind":"user_message_sent","payload":{"content":"%s"}}' % (b"x" * 1_048_577), 413, "TooLarge"),
    ],
    ids=lambda value: value[:90].decode(errors="replace") if isinstance(value, bytes) else str(value),
)  # fmt: skip
async def test_a_bad_event_is_refused_and_nothing_is_written(
    client: httpx.AsyncClient,
    url: str,
    admin: psycopg.Connection[Any],
    sent: bytes,
    status: int,
    error: str,
) -> None:
    before = count(admin)
    kind = {"Content-Type": "application/json"}
    check_problem(await client.post(f"{url}/events", content=sent, headers=kind), status, error)
    assert count(admin) == before


@all_cases(
    ("path", "body", "status", "error"),
    [
        ("slots", {"count": 0}, 422, "BadReservation"),
        ("slots", {"count": 257}, 422, "BadReservation"),
        ("slots", {"count": 2**80}, 422, "BadReservation"),
        ("slots", {"count": "2"}, 422, "BadPayload"),
        ("slots", {"count": True}, 422, "BadPayload"),
        ("slots", {"count": 1, "ttl": 0}, 422, "BadReservation"),
        ("slots", {"count": 1, "ttl": 3601}, 422, "BadReservation"),
        ("slots", {"count": 2, "intents": ["one"]}, 422, "BadReservation"),
        ("slots", {"count": 1, "intents": ["a\0b"]}, 400, "NotCanonical"),
        ("transients", {"kind": SAY, "payload": {"content": "x"}}, 422, "UnknownKind"),
        ("transients", {"kind": "message_chunk", "payload": {}}, 422, "BadPayload"),
        ("transients", {**CHUNK, "block_index": -1}, 422, "BadPayload"),
        ("transients", {**CHUNK, "turn": 1.5}, 422, "BadPayload"),
        ("transients", {"kind": "message_chunk", "payload": {"text": "x" * 70_000}}, 413, "TooLarge"),
    ],
)  # fmt: skip
async def test_other_bad_bodies_are_refused(
    client: httpx.AsyncClient,
    url: str,
    admin: psycopg.Connection[Any],
    path: str,
    body: dict[str, Any],
    status: int,
    error: str,
) -> None:
    before = count(admin)
    check_problem(await client.post(f"{url}/{path}", json=body), status, error)
    assert count(admin) == before


async def test_a_slot_needs_its_own_token(
    client: httpx.AsyncClient, url: str, admin: psycopg.Connection[Any]
) -> None:
    slots = (await client.post(f"{url}/slots", json={"count": 1, "ttl": 60})).json()
    mine, before = f"{url}/slots/{slots['token']}", count(admin)
    other = f"{url}/slots/{uuid4()}"
    check_problem(await client.post(f"{other}/1", json=result("x")), 410, "SlotVoided")
    check_problem(await client.post(f"{other}/1/void", json={"reason": "x"}), 410, "SlotVoided")
    check_problem(await client.post(f"{other}/extend", json={"ttl": 5}), 410, "SlotVoided")
    check_problem(await client.post(f"{mine}/0", json=result("x")), 410, "SlotVoided")
    check_problem(await client.post(f"{mine}/2", json=result("x")), 410, "SlotVoided")
    elsewhere = mine.replace(url, f"/v1/conversations/{uuid4()}")
    check_problem(await client.post(f"{elsewhere}/1", json=result("x")), 410, "SlotVoided")
    check_problem(await client.post(f"{url}/slots/no-token/1", json=result("x")), 404, "UnknownEntity")
    check_problem(await client.post(f"{mine}/minus", json=result("x")), 404, "UnknownEntity")
    check_problem(await client.post(f"{mine}/{'9' * 30}", json=result("x")), 404, "UnknownEntity")
    voided = {"kind": "slot.voided", "payload": {"reason": "x"}}
    check_problem(await client.post(f"{mine}/1", json=voided), 422, "UnknownKind")
    assert count(admin) == before
    assert (await client.post(f"{mine}/1", json=result("x"))).status_code == 201
    check_problem(await client.post(f"{mine}/1", json=result("y")), 409, "IdempotencyConflict")
    headers = {"Idempotency-Key": "another"}
    check_problem(await client.post(f"{mine}/1", json=result("y"), headers=headers), 409, "SlotFilled")


async def test_conflicts_are_problems(
    client: httpx.AsyncClient, url: str, admin: psycopg.Connection[Any]
) -> None:
    key = {"Idempotency-Key": "k"}
    await client.post(f"{url}/events", json=message("a"), headers=key)
    before = count(admin)
    check_problem(
        await client.post(f"{url}/events", json=message("b"), headers=key), 409, "IdempotencyConflict"
    )
    for bad in ("", "k" * 256):
        answer = await client.post(f"{url}/events", json=message("b"), headers={"Idempotency-Key": bad})
        check_problem(answer, 422, "BadPayload")
    assert count(admin) == before


async def test_approvals_are_requested_and_decided_once(client: httpx.AsyncClient, url: str) -> None:
    request = {"tool_name": "refund", "tool_args": {"amount": 5}, "approval_id": "a-1"}
    first = (await client.post(f"{url}/approvals", json=request)).json()
    again = (await client.post(f"{url}/approvals", json=request)).json()
    assert (first["state"], again["requested_seq"]) == ("requested", first["requested_seq"])
    denied = {"decision": "denied", "reason": "too much", "actor": "ana"}
    won = (await client.post(f"{url}/approvals/a-1", json=denied)).json()
    lost = (await client.post(f"{url}/approvals/a-1", json={"decision": "approved", "actor": "eva"})).json()
    assert [(each["state"], each["mine"]) for each in (won, lost)] == [("denied", True), ("denied", False)]
    assert (await client.get(f"{url}/approvals/a-1")).json()["decided_by"] == "ana"
    assert [each["id"] for each in (await client.get(f"{url}/approvals")).json()["approvals"]] == ["a-1"]
    check_problem(await client.get(f"{url}/approvals/no"), 404, "UnknownApproval")
    maybe = await client.post(f"{url}/approvals/a-1", json={"decision": "maybe"})
    check_problem(maybe, 422, "BadPayload")


async def test_metrics_are_served(client: httpx.AsyncClient) -> None:
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "foja_streams_open" in answer.text
    assert "foja_sequence_gaps_total" in answer.text


async def test_metrics_have_the_age_of_jobs_and_those_that_need_a_person(
    client: httpx.AsyncClient, admin: psycopg.Connection[Any]
) -> None:
    paper = Paper(admin)
    paper.request()
    for number, state in enumerate(("dead", "running", "running", "queued")):
        admin.execute(
            """insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, max_tries, state,
                lease_until) values ('run_tsa', %s, %s, 'default', %s, 5, %s, now() - interval '1 min')""",
            [paper.id, paper.id, str(number), state],
        )
    shown = (await client.get("/metrics")).text
    assert 'foja_job_oldest_ready_seconds{type="protect_document_v2"} ' in shown
    admin.execute("update foja.job set run_at = now() - interval '1 hour' where state = 'queued'")
    shown = (await client.get("/metrics")).text
    ages = re.findall(r'foja_job_oldest_ready_seconds\{type="(\w+)"\} ([\d.]+)', shown)
    assert {name for name, seconds in ages if 3600 <= float(seconds) < 4000} == {
        "protect_document_v2",
        "run_tsa",
    }
    assert 'foja_jobs_dead{type="run_tsa"} 1.0' in shown
    assert 'foja_jobs_past_lease{type="run_tsa"} 2.0' in shown
    assert 'foja_jobs_dead{type="build_artifact"} 0.0' in shown


@all_cases(
    ("path", "status", "error"),
    [
        ("/v1/conversations/no-id/events", 404, "UnknownEntity"),
        (f"/v1/conversations/{UUID(int=7)}", 404, "UnknownEntity"),
        ("/v1/nothing", 404, None),
        ("/v1/conversations?limit=0", 422, None),
        ("/v1/conversations?before=x", 422, None),
        (f"/v1/conversations/{UUID(int=7)}/events?limit=1001", 422, None),
        (f"/v1/conversations/{UUID(int=7)}/events?wait=-1", 422, None),
        (f"/v1/conversations/{UUID(int=7)}/events?wait=nan", 422, None),
        (f"/v1/conversations/{UUID(int=7)}/events?after=garbage", 410, "CursorLost"),
        (f"/v1/conversations/{UUID(int=7)}/events?after=abc:0", 410, "CursorLost"),
        (f"/v1/conversations/{UUID(int=7)}/events?after=abc:0&holes=1-99999999", 410, "CursorLost"),
        (f"/v1/conversations/{UUID(int=7)}/events?after=abc:0&holes=x", 410, "CursorLost"),
        (f"/v1/conversations/{UUID(int=7)}/events?after=3&holes=1", 410, "CursorLost"),
    ],
)
async def test_wrong_addresses_are_problems(
    client: httpx.AsyncClient, path: str, status: int, error: str | None
) -> None:
    check_problem(await client.get(path), status, error)


async def test_a_wrong_method_is_a_problem(client: httpx.AsyncClient, url: str) -> None:
    check_problem(await client.delete(url), 405)
    refused = await client.options("/v1/documents/batch")
    assert (refused.status_code, refused.headers["Allow"]) == (405, "POST"), "not those of a document `batch`"


async def test_only_a_given_cursor_is_accepted(client: httpx.AsyncClient, url: str) -> None:
    cursor = (await client.get(f"{url}/events")).json()["cursor"]
    epoch = cursor.partition(":")[0]
    assert (await client.get(f"{url}/events?after={cursor}")).status_code == 200
    for other in (f"{epoch}:1", f"{epoch}:999999999999", f"0{epoch[1:]}x:0"):
        check_problem(await client.get(f"{url}/events?after={other}"), 410, "CursorLost")


async def test_a_body_must_be_declared_as_json(
    client: httpx.AsyncClient, url: str, admin: psycopg.Connection[Any]
) -> None:
    """Without a CORS preflight, a foreign page can post text to this machine but not JSON."""
    before = count(admin)
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = await client.post(
            f"{url}/events", content=json.dumps(message("x")), headers={"Content-Type": kind}
        )
        check_problem(answer, 415)
    assert count(admin) == before


async def test_only_local_host_names_are_accepted(client: httpx.AsyncClient) -> None:
    check_problem(await client.get("/healthz", headers={"Host": "evil.example:8000"}), 421)
    assert (await client.get("/healthz", headers={"Host": "localhost:1"})).status_code == 200


async def test_an_endless_body_is_refused_early(client: httpx.AsyncClient, url: str) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            yield b" " * 65_536
            sent += 65_536
            await asyncio.sleep(0)

    headers = {"Content-Type": "application/json"}
    try:
        answer = await client.post(f"{url}/events", content=endless(), headers=headers)
    except httpx.TransportError:  # the connection was closed while the body was sent
        pass
    else:
        check_problem(answer, 413, "TooLarge")
    assert sent < MAX_DISCARDED_BYTES + 16 * 1_048_576  # the buffers of two sockets
    announced = await client.post(f"{url}/events", content=b" " * (MAX_REQUEST_BYTES + 1), headers=headers)
    check_problem(announced, 413, "TooLarge")
    assert (await client.get(url)).json()["next_seq"] == 1


async def test_openapi_lists_every_address(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()
    one = "/v1/conversations/{conversation_id}"
    assert set(described["paths"]) >= {
        "/v1/conversations", one, f"{one}/events", f"{one}/stream", f"{one}/slots", f"{one}/transients",
        f"{one}/slots/{{token}}/extend", f"{one}/slots/{{token}}/{{seq}}",
        f"{one}/slots/{{token}}/{{seq}}/void", "/healthz",
    }  # fmt: skip
    body = described["paths"][f"{one}/events"]["post"]["requestBody"]
    assert body["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/ConversationAppendBody"
    }
    assert set(described["components"]["schemas"]["ConversationAppendBody"]["required"]) == {
        "kind",
        "payload",
    }


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
async def test_other_machines_are_served_once_there_is_a_key(open_app: Callable[..., App], host: str) -> None:
    async with open_app(web_host=host) as app:
        with pytest.raises(SetupFailed, match="foja access create"):
            await bind_for(app, 0)
    async with open_app(web_host="0.0.0.0") as app:
        await app.access.keys.create("default", ["admin"])
        with await bind_for(app, 0) as listener:
            assert listener.getsockname()[0] == "0.0.0.0"


def test_a_port_in_use_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SetupFailed, match="FOJA_WEB_PORT"):
            bind("127.0.0.1", port, expose=False)
    with bind("0.0.0.0", 0, expose=True) as listener:
        assert urlsplit(f"//{listener.getsockname()[0]}").hostname == "0.0.0.0"


async def test_gaps_are_counted_for_all_and_for_each_stream(app: App, client: httpx.AsyncClient) -> None:
    """Numbers voided by a caller, by their deadline and by a lost lane count alike."""
    talk, other = await app.conversations.open(), await app.conversations.open()
    given, expired = await talk.reserve(3), await other.reserve(2, ttl=0.01)
    await talk.append(SAY, {"content": "x"})
    for ordinal in range(3):
        await given.void(ordinal, reason="denied")
    await asyncio.sleep(0.05)
    await app.work(until_idle=True)
    with pytest.raises(errors.SlotVoided):
        await expired.fill(0, TOOL, result("late")["payload"])
    shown = (await client.get("/metrics")).text
    assert "foja_sequence_gaps_total 5.0" in shown
    assert f'foja_stream_gaps{{entity_id="{talk.id}"}} 3.0' in shown
    assert f'foja_stream_gaps{{entity_id="{other.id}"}} 2.0' in shown
    assert (await client.get(f"/v1/conversations/{talk.id}")).json()["gaps"] == 3
    assert (await client.get(f"/v1/streams/conversation/{other.id}")).json()["gaps"] == 2
    assert "foja_sequence_gaps_total 5.0" in (await client.get("/metrics")).text


async def test_a_fill_has_the_version_that_was_sent(client: httpx.AsyncClient, url: str) -> None:
    slots = (await client.post(f"{url}/slots", json={"count": 1, "ttl": 60})).json()
    mine = f"{url}/slots/{slots['token']}/1"
    check_problem(await client.post(mine, json={**result("x"), "v": 2}), 422, "UnknownKind")
    assert (await client.post(mine, json={**result("x"), "v": 1})).json()["v"] == 1


async def test_streams_of_other_domains_are_not_conversations(app: App, client: httpx.AsyncClient) -> None:
    document = await app.documents.add(b"secret", name="secret.txt")
    url = f"/v1/conversations/{document.id}"
    for path in (url, f"{url}/events", f"{url}/stream", f"{url}/approvals"):
        check_problem(await client.get(path), 404, "UnknownEntity")
    page = await client.get(f"/conversations/{document.id}")  # for a person: its errors are pages
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "secret" not in page.text
    chunk = {"kind": "message_chunk", "payload": {"text": "x"}}
    check_problem(await client.post(f"{url}/transients", json=chunk), 404, "UnknownEntity")
    assert (await client.get(f"/v1/streams/document/{document.id}")).status_code == 200
