"""Documents over HTTP: add, list, protect, sign, download, with every answer as OpenAPI describes it."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64decode
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

import foja
from foja.app import App
from tests.cases import all_cases
from tests.flow.access.access_scene import ME
from tests.flow.client.client import Tab
from tests.flow.http.described import Described, described

ALL = "/v1/documents"
PDF = {"Content-Type": "application/pdf"}
ONE = "/v1/documents/{document_id}"


@pytest.fixture
async def api(app: App) -> AsyncIterator[Described]:
    async with described(app) as api:
        yield api


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_the_story_of_a_document(app: App, api: Described) -> None:
    data = b"%PDF-1.7 a contract" * 1000
    first = await api.call(
        "POST",
        ALL,
        201,
        content=data,
        query="?name=contract.pdf",
        headers=PDF,
    )
    added = first.json()
    assert (added["sha256"], added["size"], added["custody"]) == (digest(data), len(data), "stored")
    assert first.headers["location"] == f"/v1/documents/{added['id']}"
    form = {"file": ("contract.pdf", data, "application/pdf")}
    again = (await api.call("POST", ALL, 200, files=form)).json()
    assert again == {**added, "new": False}
    by_digest = (await api.call("POST", ALL, 201, {"sha256": digest(b"x"), "name": "x", "size": 1})).json()
    assert by_digest["custody"] == "hash_only"
    newer = {"sha256": digest(b"y"), "predecessor": added["id"]}
    batch = {"documents": [{"sha256": digest(b"x"), "name": "x"}, newer, {"sha256": "no"}]}
    results = (await api.call("POST", f"{ALL}/batch", 200, {**batch, "required_evidence": ["tsa"]})).json()
    assert (results["added"], results["results"][2]["problem"]["error"]) == (1, "BadPayload")

    one = {"document_id": added["id"]}
    requested = await api.call("POST", f"{ONE}/protect", 201, {}, **one)
    assert requested.json()["kind"] == "document.protected.requested"
    assert requested.json()["actor"] == ME
    await api.call("POST", f"{ONE}/protect", 200, {"required_evidence": ["tsa"]}, **one)
    signed = {"format": "unchecked", "signer": "Ana", "reason": "approved"}
    await api.call("POST", f"{ONE}/signatures", 201, signed, **one)
    await app.work(until_idle=True)
    view = (await api.call("GET", ONE, 200, **one)).json()
    assert (view["state"], view["signatures"][0]["claimed_signer"]) == ("final", "Ana")
    newest = (await api.call("GET", ALL, 200, query="?state=final&limit=1")).json()
    older = (await api.client.get(newest["next"])).json()
    assert added["id"] not in {each["id"] for each in newest["documents"]}
    assert [each["id"] for each in older["documents"]] in ([by_digest["id"]], [added["id"]])
    await _evidence(api, added["id"], data)
    await _closing(api, added["id"], by_digest["id"])
    assert [*api.uncalled(ALL)] == ["get /v1/documents/{document_id}/stream"]


async def _evidence(api: Described, document_id: str, data: bytes) -> None:
    one = {"document_id": document_id}
    trust = (await api.call("GET", f"{ONE}/trust", 200, **one)).json()["trust"]
    whole = await api.call("GET", f"{ONE}/bundle", 200, **one)
    report = foja.verify(whole.content, trust=trust)
    assert (report.verdict, report.subject.sha256) == ("TOTAL_PASSED", hashlib.sha256(data).digest())
    tag, size = whole.headers["etag"], len(whole.content)
    assert tag == f'"{digest(whole.content)}"'
    await api.call("GET", f"{ONE}/bundle", 304, headers={"If-None-Match": tag}, **one)
    part = await api.call("GET", f"{ONE}/bundle", 206, headers={"Range": "bytes=10-19"}, **one)
    assert (part.content, part.headers["content-range"]) == (whole.content[10:20], f"bytes 10-19/{size}")
    beyond = await api.call("GET", f"{ONE}/bundle", 416, headers={"Range": f"bytes={size}-"}, **one)
    assert beyond.headers["content-range"] == f"bytes */{size}"
    less = await api.call("GET", f"{ONE}/bundle", 200, query="?with_document=false", **one)
    assert (less.headers["accept-ranges"], data[:50] in less.content) == ("none", False)
    proofs = (await api.call("GET", f"{ONE}/proofs", 200, **one)).json()
    assert proofs["witness_hash"] == digest(data)
    assert all(b64decode(each["content"]) for each in proofs["proofs"])
    for language, word in (("en", "en"), ("es", "es")):
        page = await api.call("GET", f"{ONE}/certificate", 200, query=f"?language={language}", **one)
        assert page.content.startswith(b"%PDF-"), word
    proof = (await api.call("GET", f"{ONE}/events/{{seq}}/proof", 200, seq=0, **one)).json()
    found = foja.verify(proof["event"].encode(), trust=trust, proofs=[proof["proof"].encode()])
    assert found.verdict == "TOTAL_PASSED"


async def _closing(api: Described, document_id: str, other: str) -> None:
    one, reason = {"document_id": document_id}, {"reason": "superseded"}
    await api.call("POST", f"{ONE}/retry", 422, {"evidence": "tsa"}, **one)
    await api.call("POST", f"{ONE}/revoke", 201, reason, **one)
    event = {"kind": "document.witness.required", "payload": {}}
    recorded = await api.call("POST", f"{ONE}/events", 201, event, document_id=other)
    assert recorded.json()["kind"] == "document.witness.required"
    await api.call("POST", f"{ONE}/archive", 201, reason, document_id=other)
    stays = (await api.call("POST", f"{ONE}/erase", 200, reason, **one)).json()["stays"]
    assert any("bytes" in each for each in stays)
    events = (await api.call("GET", f"{ONE}/events", 200, **one)).json()["events"]
    assert events[0]["payload"] is None
    tab = Tab()
    await tab.read(api.client, f"/v1/documents/{document_id}/stream", until=lambda tab: len(tab.events) > 3)
    for method, path in (("GET", ""), ("GET", "/events"), ("GET", "/bundle"), ("POST", "/protect")):
        body: dict[str, str] | None = {} if method == "POST" else None
        await api.call(method, f"{ONE}{path}", 404, body, document_id=uuid4())


async def test_a_conversation_is_no_document(app: App, api: Described) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "x"})
    for path in ("", "/events", "/stream", "/trust"):
        answer = await api.client.get(f"/v1/documents/{talk.id}{path}")
        assert (answer.status_code, answer.json()["error"]) == (404, "UnknownEntity")


BOUNDARY = "multipart/form-data; boundary=b"
PART = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
FILE = PART % (b"file", b'; filename="a"', b"data")


@all_cases(
    ("kind", "body"),
    [
        ("multipart/form-data", FILE + b"--b--\r\n"),
        (BOUNDARY, b""),
        (BOUNDARY, b"no form"),
        (BOUNDARY, FILE),  # it ends too early
        (BOUNDARY, PART % (b"name", b"", b"x") + b"--b--\r\n"),  # it has no file
        (BOUNDARY, FILE + PART % (b"name", b"", b"x") + b"--b--\r\n"),  # a field after the file
        (BOUNDARY, FILE + FILE + b"--b--\r\n"),
        (BOUNDARY, PART % (b"name", b"", b"x" * 20_000) + FILE + b"--b--\r\n"),
        (BOUNDARY, PART % (b"name", b"", b"\xff") + FILE + b"--b--\r\n"),
        (BOUNDARY, PART % (b"", b"", b"x") + FILE + b"--b--\r\n"),
        (BOUNDARY, b"".join(PART % (b"f%d" % n, b"", b"x") for n in range(20)) + FILE + b"--b--\r\n"),
        (BOUNDARY, b"--b\r\n" + b"X: y\r\n" * 500 + b"\r\n"),
    ],
)
async def test_a_malformed_form_is_refused_and_nothing_is_recorded(
    app: App, api: Described, kind: str, body: bytes
) -> None:
    await api.call("POST", ALL, 400, content=body, headers={"Content-Type": kind})
    assert not await app.documents.list()


async def test_fields_of_a_form_name_the_document(api: Described) -> None:
    form = {"file": ("a.txt", b"x", "text/plain")}
    found = (await api.call("POST", ALL, 201, files=form, data={"name": "ñandú.txt"})).json()
    assert found["name"] == "ñandú.txt"
    await api.call("POST", ALL, 422, files=form, data={"other": "x"})
    await api.call("POST", ALL, 404, files=form, data={"predecessor": "x"})


async def test_a_body_over_the_limit_is_refused(open_app: object, app: App) -> None:
    app.settings = app.settings.model_copy(update={"upload_max_mb": 0.001})
    async with described(app) as api:

        async def stream() -> AsyncIterator[bytes]:
            for _ in range(20):
                yield b"x" * 100
                await asyncio.sleep(0)

        await api.call("POST", ALL, 413, content=b"x" * 1001)
        await api.call("POST", ALL, 413, content=stream())
        await api.call("POST", ALL, 201, content=b"x" * 1000)
    assert len(await app.documents.list()) == 1


async def test_a_page_of_another_site_sends_no_file(api: Described) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}
    await api.call("POST", ALL, 403, content=b"x", headers=headers)
