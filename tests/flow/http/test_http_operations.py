"""Jobs, anchors, log and maintenance over HTTP, with every answer as OpenAPI describes it."""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from scitt_cose import verify_receipt

import foja
from foja.app import App
from foja.pure.core.tiles import decode_entries
from foja.pure.models.alerts.table import ALERTS
from tests.flow.http.described import Described, described
from tests.flow.http.test_http import message
from tests.job_domain import RUN, install

JOBS, ONE = "/v1/jobs", "/v1/jobs/{job_id}"


@pytest.fixture
async def api(app: App) -> AsyncIterator[Described]:
    async with described(app) as api:
        yield api


async def test_jobs_of_an_own_domain(api: Described, admin: psycopg.Connection[Any]) -> None:
    install(admin)
    stream = str(uuid4())
    event = {"kind": "errand.asked", "payload": {"what": "bread"}}
    events = "/v1/streams/{domain}/{stream_id}/events"
    await api.call("POST", events, 201, event, domain="errand", stream_id=stream)
    new = {"type": RUN, "entity_id": stream, "payload": {"n": 1}, "delay": 3600}
    await api.call("POST", JOBS, 422, new)
    key = {"Idempotency-Key": "bread"}
    assert (await api.call("POST", JOBS, 201, new, headers=key)).json()["new"]
    assert not (await api.call("POST", JOBS, 200, {**new, "key": "bread"})).json()["new"]
    await api.call("POST", JOBS, 201, {**new, "key": "milk"})
    await api.call("POST", JOBS, 404, {**new, "type": "nothing", "key": "x"})
    await api.call("POST", JOBS, 422, {**new, "type": "run_tsa", "key": "x"})
    waiting = (await api.call("GET", f"{JOBS}/unhandled", 200)).json()["types"]
    assert RUN not in [each["type"] for each in waiting], "its jobs are for later"
    page = (await api.call("GET", JOBS, 200, query=f"?type={RUN}&limit=1&entity_id={stream}")).json()
    rest = (await api.client.get(page["next"])).json()
    jobs = [page["jobs"][0], rest["jobs"][0]]
    assert [job["key"] for job in jobs] == ["milk", "bread"]
    job = {"job_id": jobs[0]["id"]}
    assert (await api.call("GET", ONE, 200, **job)).json()["state"] == "queued"
    assert (await api.call("POST", f"{ONE}/cancel", 200, **job)).json() == {"asked": 1, "done": 1}
    assert (await api.call("POST", f"{ONE}/retry", 200, job_id=jobs[1]["id"])).json()["done"] == 1
    await api.call("GET", ONE, 404, job_id=10**12)
    chosen = {"type": RUN, "state": "queued"}
    assert (await api.call("POST", f"{JOBS}/cancel", 200, chosen)).json() == {"asked": 1, "done": 1}
    await api.call("POST", f"{JOBS}/retry", 422, {})
    assert (await api.call("POST", f"{JOBS}/retry", 200, {"ids": [jobs[0]["id"]]})).json()["asked"] == 1
    assert (await api.call("POST", f"{JOBS}/types/{{job_type}}/pause", 200, job_type=RUN)).json()["paused"]
    assert (await api.call("GET", JOBS, 200)).json()["paused"] == [RUN]
    await api.call("POST", f"{JOBS}/types/{{job_type}}/resume", 200, job_type=RUN)
    await api.call("POST", f"{JOBS}/types/{{job_type}}/resume", 404, job_type="nothing")
    assert [*api.uncalled(JOBS)] == []


async def test_batches_of_events(api: Described, admin: psycopg.Connection[Any]) -> None:
    install(admin)
    one = {"conversation_id": str(uuid4())}
    address = "/v1/conversations/{conversation_id}/events/batch"
    both = {"events": [message("a"), {**message("b"), "expected_seq": 7}]}
    await api.call("POST", address, 409, {**both, "atomic": True}, **one)
    each = (await api.call("POST", address, 200, both, **one)).json()
    assert (each["appended"], each["results"][1]["problem"]["error"]) == (1, "WrongExpectedSeq")
    many = {"events": [message(str(turn)) for turn in range(100)], "atomic": True}
    key = {"Idempotency-Key": "k"}
    first = (await api.call("POST", address, 201, many, headers=key, **one)).json()
    again = (await api.call("POST", address, 200, many, headers=key, **one)).json()
    assert [result["event"]["seq"] for result in first["results"]] == [*range(1, 101)]
    assert (again["appended"], again["results"][5]["event"]) == (0, first["results"][5]["event"])
    mixed = {"events": [message("x"), {"kind": "nothing", "payload": {}}]}
    found = (await api.call("POST", address, 200, mixed, **one)).json()["results"]
    assert (found[0]["new"], found[1]["problem"]["error"]) == (True, "UnknownKind")
    await api.call("POST", address, 422, {"events": []}, **one)
    await api.call("POST", address, 422, {"events": [message("x")] * 257, "atomic": True}, **one)
    own = {"domain": "errand", "stream_id": str(uuid4())}
    event = {"kind": "errand.asked", "payload": {"what": "bread"}}
    streams = "/v1/streams/{domain}/{stream_id}"
    await api.call("POST", f"{streams}/events/batch", 201, {"events": [event] * 3}, **own)
    assert (await api.call("GET", streams, 200, **own)).json()["next_seq"] == 3
    assert (await api.call("GET", "/v1/streams/{domain}", 200, domain="errand")).json()["next"] is None


async def test_the_log_and_its_proofs(app: App, api: Described) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "x"})
    one = {"conversation_id": str(talk.id)}
    prove = "/v1/conversations/{conversation_id}/events/{seq}/proof"
    assert (await api.call("GET", prove, 409, seq=0, **one)).headers["retry-after"] == "1"
    await app.publish()
    proof = (await api.call("GET", prove, 200, seq=0, **one)).json()
    trust = (await api.call("GET", "/v1/log/trust", 200)).json()["trust"]
    found = foja.verify(proof["event"].encode(), trust=trust, proofs=[proof["proof"].encode()])
    assert found.verdict == "TOTAL_PASSED"
    same = await api.call("GET", "/v1/log/proofs/{entity_id}/{seq}", 200, entity_id=talk.id, seq=0)
    assert same.json()["event"] == proof["event"]
    file = "/v1/log/proofs/{entity_id}/{seq}/file"
    whole = await api.call("GET", file, 200, entity_id=talk.id, seq=0)
    assert whole.content == (await talk.prove(0)).file()
    assert f"{talk.id}-0.foja-proof" in whole.headers["content-disposition"]
    receipt = "/v1/log/proofs/{entity_id}/{seq}/receipt"
    signed = await api.call("GET", receipt, 200, entity_id=talk.id, seq=0)
    assert signed.headers["content-type"] == "application/scitt-receipt+cose"
    entry = (await talk.prove(0)).excerpt.check().hex()
    pem = app.signer.verifier().pem()
    assert verify_receipt(signed.content, leaf_entry_hex=entry, log_public_key_pem=pem).ok
    await api.call("GET", prove, 404, seq=9, **one)
    older = (await api.call("GET", "/v1/log/checkpoint", 200)).text
    await api.call("POST", "/v1/log/receipt", 409, {"checkpoint": older})
    await api.call("POST", "/v1/log/receipt", 422, {"checkpoint": older.replace("\n", "x\n", 1)})
    await talk.append("user_message_sent", {"content": "y"})
    await app.publish()
    growth = await api.call("POST", "/v1/log/receipt", 200, {"checkpoint": older})
    assert foja.verify(older.encode(), trust, proofs=[growth.content]).verdict == "TOTAL_PASSED"
    proof = (await api.call("GET", prove, 200, seq=0, **one)).json()
    log = (await api.call("GET", "/v1/log", 200)).json()
    assert (await api.call("GET", "/v1/log/checkpoint", 200)).text == log["checkpoint"]
    assert (log["size"], log["key"]) == (proof["size"], trust[0])
    assert (await api.call("GET", "/v1/log/{origin}/checkpoint", 200, origin=1)).text == log["checkpoint"]
    tile = "/v1/log/{origin}/tile/{path}"
    hashes = await api.call("GET", tile, 200, origin=1, path=f"0/000.p/{log['size']}")
    entries = await api.call("GET", tile, 200, origin=1, path=f"entries/000.p/{log['size']}")
    leaf = hashlib.sha256(b"\x00" + decode_entries(entries.content)[proof["index"]]).digest()
    assert hashes.content[32 * proof["index"] :][:32] == leaf
    assert len(b64decode(log["root"])) == 32
    for path in ("0/001", "checkpoint", "0/../../1/checkpoint", "0/%2e%2e/x", "entries/1"):
        answer = await api.client.get(f"/v1/log/1/tile/{path}")
        assert answer.status_code == 404, path
    assert (await api.call("GET", "/v1/log/anchored", 200)).json() == {"anchored": []}
    protect = "/v1/conversations/{conversation_id}/protect"
    assert (await api.call("POST", protect, 201, {}, **one)).json()["new"]
    erase = "/v1/conversations/{conversation_id}/events/{seq}/erase"
    await api.call("POST", erase, 200, {"reason": "asked for"}, seq=0, **one)
    assert [*api.uncalled("/v1/log")] == []


async def test_an_alert_that_fires_is_listed_and_in_the_history(
    open_app: Callable[..., AbstractAsyncContextManager[App]], admin: psycopg.Connection[Any]
) -> None:
    async with open_app(metrics_cache_seconds=0) as app, described(app) as api:
        await (await app.conversations.open()).append("user_message_sent", {"content": "hi"})
        await app.publish()
        every = (await api.call("GET", "/v1/alerts", 200)).json()["alerts"]
        assert {each["alert"] for each in every} == {name for name, each in ALERTS.items() if each.built_in}
        admin.execute("update foja.log set halted = 'a test'")
        await app.alerts.evaluate()
        [firing] = (await api.call("GET", "/v1/alerts", 200, query="?firing=true")).json()["alerts"]
        assert (firing["alert"], firing["state"]) == ("log_halted", "firing")
        [told] = (await api.call("GET", "/v1/alerts/history", 200)).json()["notices"]
        assert (told["alert"], told["event"], told["undelivered"]) == ("log_halted", "fired", [])


async def test_anchors_and_maintenance(app: App, api: Described) -> None:
    networks = (await api.call("GET", "/v1/anchors", 200)).json()["networks"]
    assert {each["network"]: each["enabled"] for each in networks} == dict.fromkeys(
        ("polygon", "bitcoin", "rekor"), False
    )
    await api.call("GET", "/v1/anchors/batches", 200, query="?network=polygon&status=sent")
    await api.call("GET", "/v1/anchors/batches/{batch_id}", 404, batch_id=uuid4())
    await api.call("GET", "/v1/anchors/costs", 200)
    assert (await api.call("POST", "/v1/anchors/{network}/flush", 200, network="rekor")).json()["jobs"] == 0
    await api.call("POST", "/v1/anchors/{network}/enable", 422, network="polygon")
    await api.call("POST", "/v1/anchors/{network}/disable", 200, network="polygon")

    stored = await app.objects.put(b"an orphan")
    scan = (await api.call("POST", "/v1/maintenance/cleanup", 200, {})).json()
    assert (scan["dry"], scan["action"], scan["outcome"]) == (True, "scan", "complete")
    assert not (await api.call("POST", "/v1/maintenance/cleanup", 200, {"dry_run": False})).json()["dry"]
    report = (await api.call("GET", "/v1/maintenance/cleanup", 200)).json()
    assert report["runs"][0]["action"] == "scan"
    listed = (await api.call("GET", "/v1/maintenance/candidates", 200, query="?limit=7")).json()
    assert listed == {"candidates": report["candidates"]}
    assert (await api.call("POST", "/v1/maintenance/purge", 200, {})).json()["dry"]
    await api.call("POST", "/v1/maintenance/purge", 200, {"dry_run": False, "reason": "test"})
    one = {"sha256": stored.sha256, "reason": "test"}
    deleted = (await api.call("POST", "/v1/maintenance/purge/object", 200, one)).json()["deleted"]
    assert deleted == [f"objects/{stored.sha256}/{stored.generation}"]
    answer = await api.client.post("/v1/maintenance/restore", json=one)
    assert answer.status_code in (404, 409, 422)
    retried = (await api.call("POST", "/v1/maintenance/retry", 200, {})).json()
    assert retried == {"evidence": 0, "images": 0, "jobs": 0}
