"""Verification over HTTP: the same report as `foja.verify`, from a process that can do nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import foja
from foja.app import App
from foja.interfaces.web.verify import judge
from tests.flow.access.access_scene import bearer, make_key, origin
from tests.flow.client.client import served
from tests.flow.http.described import Described, described

VERIFY = "/v1/verify"
VECTORS = Path(__file__).parents[2] / "vectors"
AT = "2026-11-01T00:00:00+00:00"
BUNDLES, JUDGED, BATCH = VECTORS / "bundles", VECTORS / "judged", VECTORS / "batch"
CASES: list[tuple[Path, Path, list[Path]]] = [
    (BUNDLES / "plain.asice", BUNDLES / "trust.txt", []),
    (BUNDLES / "conversation.asice", BUNDLES / "trust.txt", []),
    (BUNDLES / "renewed.asice", BUNDLES / "trust.txt", []),
    (BATCH / "bulk.asice", BATCH / "trust.txt", []),
    (BATCH / "document.txt", BATCH / "trust.txt", [BATCH / "x.ers", BATCH / "x.blinding"]),
    (JUDGED / "document.txt", JUDGED / "trust.txt", [JUDGED / "token.tsr", JUDGED / "x.ots"]),
    (
        JUDGED / "document.txt",
        JUDGED / "trusted_root.json",
        [JUDGED / "x.sigstore.json", JUDGED / "x.evm.json"],
    ),
    (
        VECTORS / "rekor_batch/document.txt",
        VECTORS / "rekor_batch/trust.txt",
        [VECTORS / "rekor_batch/x.rekor.json"],
    ),
    (BUNDLES / "README.md", BUNDLES / "trust.txt", [JUDGED / "x.ots"]),
]


@pytest.fixture
async def api(app: App) -> AsyncIterator[Described]:
    async with described(app) as api:
        yield api


def form(subject: bytes, trust: list[bytes], proofs: list[bytes], **fields: str) -> list[Any]:
    parts: list[Any] = [(name, (None, text)) for name, text in {"at": AT, **fields}.items()]
    parts += [("trust", ("trust", each)) for each in trust]
    parts += [("proof", ("proof", each)) for each in proofs]
    return [*parts, ("file", (fields.get("name", "x"), subject))]


async def test_reports_are_those_of_the_judge(api: Described) -> None:
    """Every format of a proof is judged without a file, a module or a socket to open."""
    for subject, trust, proofs in CASES:
        data, roots = subject.read_bytes(), [trust.read_bytes()]
        given = [each.read_bytes() for each in proofs]
        answer = await api.call("POST", VERIFY, 200, files=form(data, roots, given, name="x"))
        expected = foja.verify(data, trust=roots, proofs=given, at=foja_time(), name="x")
        assert answer.json() == json.loads(expected.json()), subject


def foja_time() -> datetime:
    return datetime.fromisoformat(AT)


async def test_a_bundle_of_this_installation(app: App, api: Described) -> None:
    document = await app.documents.add(b"a contract", name="a")
    await document.protect()
    await app.work(until_idle=True)
    bundle = await document.bundle()
    before = sorted(app.settings.home.rglob("*"))
    unknown = await api.call("POST", VERIFY, 200, content=bundle)
    assert unknown.json()["verdict"] == "INDETERMINATE"
    own = await api.call("POST", VERIFY, 200, content=bundle, query="?own_trust=true")
    assert own.json()["verdict"] == "TOTAL_PASSED"
    changed = bytearray(bundle)
    changed[len(changed) // 2] ^= 1
    forged = await api.call("POST", VERIFY, 200, content=bytes(changed), query="?own_trust=true")
    assert forged.json()["verdict"] != "TOTAL_PASSED"
    assert sorted(app.settings.home.rglob("*")) == before, "something was stored"


async def test_what_trust_answers_is_trust_as_it_is(app: App, api: Described) -> None:
    """`…/trust` was refused by `/v1/verify` (422), where its answer was sent as it is."""
    document = await app.documents.add(b"a contract", name="a")
    await document.protect()
    await app.work(until_idle=True)
    subject, now = await document.bundle(), datetime.now(UTC).isoformat()
    log = await api.call("GET", "/v1/log/trust", 200)
    own = await api.call("GET", "/v1/documents/{document_id}/trust", 200, document_id=document.id)
    for answer in (log, own):
        items = [each.encode() for each in answer.json()["trust"]]
        listed, whole = [form(subject, trust, [], at=now) for trust in (items, [answer.content])]
        report = (await api.call("POST", VERIFY, 200, files=whole)).json()
        assert report["verdict"] == "TOTAL_PASSED"
        assert report == (await api.call("POST", VERIFY, 200, files=listed)).json()
    for wrong in (b'{"trust": "x"}', b'{"trust": [7]}', b'{"trust": [], "more": []}'):
        await api.call("POST", VERIFY, 422, files=form(b"x", [wrong], []))


async def test_what_cannot_be_judged_is_refused(api: Described) -> None:
    await api.call("POST", VERIFY, 422, content=b"")
    await api.call("POST", VERIFY, 422, files=form(b"x", [b"no root"], []))
    await api.call("POST", VERIFY, 422, files=form(b"x", [], [], at="yesterday"))
    await api.call("POST", VERIFY, 422, files=form(b"x", [], [], digest="12"))
    await api.call("POST", VERIFY, 422, files=form(b"x", [], [], other="x"))
    await api.call("POST", VERIFY, 400, files=form(b"x", [], [bytes(3 << 20)]))
    only = [each for each in form(b"", [], [], digest=64 * "0") if each[0] != "file"]
    assert (await api.call("POST", VERIFY, 200, files=only)).json()["verdict"] == "INDETERMINATE"


async def test_more_than_a_few_at_a_time_are_refused(
    api: Described, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = asyncio.Event()

    async def wait(*_: object) -> bytes:
        await held.wait()
        return foja.verify(b"x").json()

    monkeypatch.setattr(judge.Judges, "_judge", wait)
    most = app.settings.verify_processes * (1 + judge.WAITING_FOR_EACH)
    calls = [asyncio.create_task(api.client.post(VERIFY, content=b"x")) for _ in range(most + 3)]
    refused = 0
    while refused < 3:
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        refused = sum(call.done() for call in calls)
    held.set()
    answers = await asyncio.gather(*calls)
    assert sorted(each.status_code for each in answers) == [200] * most + [429] * 3
    limited = next(each for each in answers if each.status_code == 429)
    assert int(limited.headers["retry-after"]) > 0


async def test_a_flood_without_keys_keeps_no_caller_with_a_key_from_verifying(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, running = asyncio.Event(), 0

    async def wait(_: object, file: object, request: judge.VerifyRequest) -> bytes:
        nonlocal running
        if request.language:  # the page asks for a report that it shows
            running += 1
            await held.wait()
        return foja.verify(b"x").json()

    monkeypatch.setattr(judge.Judges, "_judge", wait)
    key = bearer(await make_key(app, ["read"]))
    async with served(app) as client:
        assert (await client.post(VERIFY, content=b"x")).status_code == 401
        sent: dict[str, Any] = {"files": {"file": ("x", b"x")}, "headers": origin(client)}
        calls = [asyncio.create_task(client.post("/verify", **sent)) for _ in range(40)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        refused = [call.result().status_code for call in calls if call.done()]
        assert set(refused) == {429}
        most = app.settings.verify_processes * (1 + judge.WAITING_FOR_EACH)
        verified = await asyncio.gather(
            *(client.post(VERIFY, content=b"x", headers=key) for _ in range(most))
        )
        assert [each.status_code for each in verified] == [200] * most
        assert running == app.settings.verify_processes - 1
        held.set()
        await asyncio.gather(*calls, return_exceptions=True)
