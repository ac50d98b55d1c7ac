"""A request for every act of the API that makes something, and a server to send it to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg

from foja.app import App
from tests.flow.access.access_scene import bearer, make_key
from tests.flow.client.client import SAY
from tests.flow.http.described import Described, described
from tests.job_domain import RUN, install
from tests.tsa_server import running_tsa

DIGEST, OTHER = "ab" * 32, "cd" * 32
PAPER, TALK = "/v1/documents/{document_id}", "/v1/conversations/{conversation_id}"
STREAM, GALLERY = "/v1/streams/{domain}/{stream_id}", "/v1/products/{product_id}"
IMAGE = f"{GALLERY}/images/{{image_id}}"
FILL = f"{TALK}/slots/{{token}}/{{seq}}"
TUS = {"Tus-Resumable": "1.0.0", "Upload-Length": "5"}
SECRET = {"/v1/access/keys", "/v1/webhooks"}  # their answers hold a secret, which is shown once
VOLATILE = {"new", "appended", "added", "cursor"}  # whether it is new, and where a follower of it continues


@dataclass(frozen=True, slots=True)
class Act:
    """A request that makes something, and the same with another body."""

    body: Any
    other: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Scene:
    """A server, and the things in the addresses of its acts."""

    app: App
    api: Described
    names: dict[str, str] = field(default_factory=dict)

    async def fill(self) -> None:
        """Make a conversation with a reservation, a gallery, a stream and a document, and seal them."""
        talk = (await self.post("/v1/conversations", {"event": event("hello")}))["id"]
        slots = await self.post(f"/v1/conversations/{talk}/slots", {"count": 1, "ttl": 600})
        product, stream = uuid4(), uuid4()
        image = await self.post(f"/v1/products/{product}/images", {"url": "https://cdn.example/0"})
        await self.post(f"/v1/streams/errand/{stream}/events", errand("milk"))
        self.names = {
            "conversation_id": talk,
            "token": slots["token"],
            "seq": str(slots["seqs"][0]),
            "product_id": str(product),
            "image_id": image["id"],
            "domain": "errand",
            "stream_id": str(stream),
        }
        await self.new_document()
        await self.app.work(until_idle=True)  # its only attempt at a timestamp fails

    async def new_document(self, *, protected: bool = True) -> None:
        added = await self.post("/v1/documents", {"sha256": uuid4().hex * 2})
        self.names["document_id"] = added["id"]
        if protected:
            await self.post(f"/v1/documents/{added['id']}/protect", {})

    async def post(self, path: str, body: Any) -> Any:
        answer = await self.api.client.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    async def send(self, path: str, act: Act, body: Any) -> httpx.Response:
        headers = {"Idempotency-Key": path, **act.headers}
        address = path.format(**self.names)
        return await self.api.client.post(address, json=body, headers=headers)


@asynccontextmanager
async def opened(
    open_app: Callable[..., App], admin: psycopg.Connection[Any], tmp_path: Path, *, keys: bool = True
) -> AsyncIterator[Scene]:
    """Yield a server with a domain of a user, and an authority that refuses."""
    install(admin)
    with running_tsa() as tsa:
        tsa.behave("refuse")
        (tmp_path / "root.pem").write_bytes(tsa.root)
        authority = {"tsa_urls": tsa.url, "tsa_roots": str(tmp_path / "root.pem")}
        terms = {"protect_attempts": 1, "protect_pause_seconds": 0, "webhook_networks": "127.0.0.0/8"}
        async with open_app(**authority, **terms) as app, described(app) as api:
            if keys:
                key = await make_key(app, installation=True, name="Ana Ruiz", actor="local:ana")
                api.client.headers.update(bearer(key))  # the first key ends what needs none
            scene = Scene(app, api)
            await scene.fill()
            yield scene


def event(text: str) -> dict[str, Any]:
    return {"kind": SAY, "payload": {"content": text}}


def errand(what: str) -> dict[str, Any]:
    return {"kind": "errand.asked", "payload": {"what": what}}


def making(document: Mapping[str, Any]) -> set[str]:
    """Return the addresses of the acts that make something (201), and of those that take a key."""
    found = set()
    for path, methods in document["paths"].items():
        post = methods.get("post", {"responses": {}})
        keyed = any(each["name"] == "Idempotency-Key" for each in post.get("parameters", ()))
        assert keyed or "201" not in post["responses"], path
        found |= {path} if keyed else set()
    return found


def acts(names: Mapping[str, str]) -> dict[str, Act]:
    """Return a request for every act that makes something."""
    protect = Act({"required_evidence": ["tsa"]}, {"required_evidence": ["tsa", "artifact"]})
    job = {"type": RUN, "entity_id": names["stream_id"]}
    tool = {"tool_name": "pay", "tool_args": {"amount": 1}}
    witness = {"kind": "document.witness.required", "payload": {}}
    unchecked = {"format": "unchecked", "signer": "Ana"}
    image = {"url": "https://cdn.example/1"}
    return {
        f"{PAPER}/retry": Act({"evidence": "tsa"}, {"evidence": "tsa", "reason": "again"}),
        f"{PAPER}/events": Act(witness, {"kind": "document.revoked", "payload": {"reason": "b"}}),
        f"{PAPER}/signatures": Act({**unchecked, "reason": "a"}, {**unchecked, "reason": "b"}),
        f"{PAPER}/protect": Act({"required_evidence": ["tsa"]}, {"stage": "initial"}),
        f"{PAPER}/revoke": Act({"reason": "a"}, {"reason": "b"}),
        f"{PAPER}/archive": Act({"reason": "a"}, {"reason": "b"}),
        "/v1/documents": Act({"sha256": DIGEST}, {"sha256": OTHER}),
        "/v1/documents/batch": Act({"documents": [{"sha256": DIGEST}]}, {"documents": [{"sha256": OTHER}]}),
        "/v1/conversations": Act({"event": event("a")}, {"event": event("b")}),
        f"{TALK}/events": Act(event("a"), event("b")),
        f"{TALK}/events/batch": Act({"events": [event("c")]}, {"events": [event("d")]}),
        f"{TALK}/slots": Act({"count": 1}, {"count": 2}),
        FILL: Act(event("e"), event("f")),
        f"{TALK}/approvals": Act(tool, {**tool, "tool_name": "refund"}),
        f"{TALK}/protect": protect,
        f"{GALLERY}/images": Act(image, {**image, "alt": "a chair"}),
        f"{IMAGE}/move": Act({"to": 0}, {"to": 1}),
        f"{IMAGE}/describe": Act({"alt": "a"}, {"alt": "b"}),
        f"{GALLERY}/protect": protect,
        f"{STREAM}/events": Act(errand("bread"), errand("milk")),
        f"{STREAM}/events/batch": Act({"events": [errand("bread")]}, {"events": [errand("milk")]}),
        f"{STREAM}/protect": protect,
        "/v1/jobs": Act({**job, "key": "a"}, {**job, "key": "b"}),
        "/v1/access/keys": Act({"scopes": ["read"]}, {"scopes": ["write"]}),
        "/v1/webhooks": Act({"url": "http://127.0.0.1/a"}, {"url": "http://127.0.0.1/b"}),
        "/v1/uploads": Act(None, None, {**TUS}),
    }


def stable(answer: httpx.Response) -> Any:
    """Return what two answers to one request have in common."""
    if not answer.content:
        return answer.headers["location"]
    return without(answer.json(), VOLATILE)


def without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: without(each, names) for name, each in value.items() if name not in names}
    return [without(each, names) for each in value] if isinstance(value, list) else value


def code_of(answer: httpx.Response) -> str | None:
    """Return the code of a refusal: of the request, or of the first item of a batch."""
    body = answer.json()
    return str((body["results"][0]["problem"] if "results" in body else body)["code"])


def recorded(admin: psycopg.Connection[Any]) -> tuple[int, ...]:
    """Return how much there is of everything that a request can make."""
    row = admin.execute(
        "select (select count(*) from foja.event), (select count(*) from foja.slot),"
        " (select count(*) from foja.access_key), (select count(*) from foja.webhook)"
    ).fetchone()
    assert row is not None
    return tuple(row)
