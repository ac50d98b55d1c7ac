"""What a person does is recorded with who did it: over HTTP, on the pages and from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from foja.app import App
from tests.flow.access.access_scene import ME, bearer, form_token, log_in, make_key, origin
from tests.flow.client.client import SAY, served
from tests.flow.command import Run, check_refused, well
from tests.flow.http.keyed_acts import GALLERY, IMAGE, PAPER, STREAM, TALK, TUS, Scene, acts, opened
from tests.flow.pages.scene import Scene as Pages
from tests.flow.pages.test_forms import filled as filled_pages
from tests.job_domain import RUN
from tests.png import png

CHANGES = {"post", "put", "patch", "delete"}
KEYS, HOOK, JOBS = "/v1/access/keys", "/v1/webhooks/{webhook_id}", "/v1/jobs"
JOB, TYPE, UPLOAD = f"{JOBS}/{{job_id}}", f"{JOBS}/types/{{job_type}}", "/v1/uploads/{token}"
SLOT, MAINTENANCE = f"{TALK}/slots/{{token}}", "/v1/maintenance"
# They judge, serve, or switch what no event records; other tests call them with what they need.
ELSEWHERE = (
    "/v1/verify",
    "/v1/log/receipt",
    "/mcp",
    "/v1/anchors",
    f"{TALK}/ag-ui",
    "/v1/access/sessions",
    f"{MAINTENANCE}/purge/",
    f"{MAINTENANCE}/restore",
)


class Call(NamedTuple):
    """A request that changes something which exists."""

    method: str
    path: str
    body: Any = None
    content: bytes | None = None
    headers: dict[str, str] | None = None
    seq: str | None = None  # of another event than the one that was made last


def changes() -> Iterator[Call]:
    """Yield a request for each act beside those that make something, in an order in which each succeeds."""
    yield Call("post", f"{TALK}/approvals/{{approval_id}}", {"decision": "approved", "reason": "it is late"})
    yield Call("post", f"{SLOT}/extend", {"ttl": 60})
    yield Call("post", f"{SLOT}/{{seq}}/void", {"reason": "not needed"})
    chunk = {"kind": "message_chunk", "payload": {"text": "x"}, "turn": 1, "block_index": 0}
    yield Call("post", f"{TALK}/transients", chunk)
    yield Call("post", f"{TALK}/events/{{seq}}/erase", {"reason": "asked for"}, seq="0")
    yield Call("put", IMAGE, content=png(width=9))
    yield Call("post", f"{IMAGE}/render")
    yield Call("post", f"{GALLERY}/images/render")
    yield Call("delete", IMAGE)
    yield Call("post", f"{PAPER}/erase", {"reason": "asked for"})
    yield Call("post", f"{STREAM}/events/{{seq}}/erase", {"reason": "asked for"}, seq="0")
    yield Call("post", f"{JOB}/cancel")
    yield Call("post", f"{JOB}/retry")
    yield Call("post", f"{JOBS}/cancel", {"type": RUN, "state": "queued"})
    yield Call("post", f"{JOBS}/retry", {"type": RUN, "state": "cancelled"})
    yield Call("post", f"{TYPE}/pause")
    yield Call("post", f"{TYPE}/resume")
    yield Call("patch", HOOK, {"description": "x", "state": "off", "reason": "late"})
    yield Call("post", f"{HOOK}/rotate", {})
    yield Call("patch", HOOK, {"state": "on"})
    yield Call("post", f"{HOOK}/replay", {"failed": True})
    yield Call("delete", HOOK)
    for verb in ("cleanup", "purge"):
        yield Call("post", f"{MAINTENANCE}/{verb}", {"dry_run": False})
    yield Call("post", f"{MAINTENANCE}/retry", {})
    chunk_type = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
    yield Call("patch", UPLOAD, content=b"bytes", headers={**TUS, **chunk_type})
    yield Call("delete", UPLOAD, headers=TUS)
    key = {"scopes": ["admin"], "installation": True, "name": "Eva"}
    yield Call("post", KEYS, key)  # the last ones: without keys, it is the first key
    yield Call("post", f"{KEYS}/{{key_id}}/rotate", {})
    yield Call("post", f"{KEYS}/{{key_id}}/revoke")


def recorded(admin: psycopg.Connection[Any], after: Collection[UUID] = ()) -> set[str | None]:
    """Return the actors of what callers recorded; workers and chores have other sources."""
    query = (
        "select actor from foja.event"
        " where payload is not null and source = any (%s) and event_id <> all (%s)"
    )
    return {actor for (actor,) in admin.execute(query, [["api", "access", "hygiene"], [*after]])}


@pytest.mark.parametrize("keys", [False, True])
async def test_every_change_over_http_names_who_made_it(
    open_app: Callable[..., App], admin: psycopg.Connection[Any], tmp_path: Path, keys: bool
) -> None:
    """Without keys an approval, a message and a slot that was given back were recorded as nobody's."""
    async with opened(open_app, admin, tmp_path, keys=keys) as scene:
        me = {(await scene.api.client.get("/v1/access/me")).json()["actor"], "local:ana"} if keys else {ME}
        called = set()
        wanted = acts(scene.names)
        del wanted[KEYS]
        for path, act in wanted.items():
            answer = await scene.send(path, act, act.body)
            assert answer.is_success, (path, answer.text)
            await note(scene, path, answer)
            called.add(("post", path))
        for call in changes():
            answer = await send(scene, call)
            assert answer.is_success, (call, answer.text)
            called.add((call.method, call.path))
        for path, methods in scene.api.document["paths"].items():
            missing = {(method, path) for method in CHANGES & methods.keys()} - called
            assert not missing or path.startswith(ELSEWHERE), missing
        assert recorded(admin) == me | {f"key:{scene.names['key_id']}"}


async def test_every_form_of_the_pages_names_who_sent_it(
    open_app: Callable[..., App], admin: psycopg.Connection[Any]
) -> None:
    """A person who is logged in with a key, and the user of the machine, who needs none."""
    async with filled_pages(open_app) as (app, scene, client):
        for who in ("local", "session"):
            sender = ME
            if who == "session":
                key = await make_key(app, installation=True)
                sender = f"key:{key.split('_')[1]}"
                await log_in(client, key)
            before = [each for (each,) in admin.execute("select event_id from foja.event")]
            await send_forms(app, scene, client, who)
            assert recorded(admin, before) == {sender, "customer", "agent"}


async def send_forms(app: App, scene: Pages, client: httpx.AsyncClient, who: str) -> None:
    """Send each form that records something."""
    token = {"form_token": form_token(await client.get("/documents"))} if who == "session" else {}
    talk = await app.conversations.open()
    await talk.append(SAY, {"content": who}, actor="customer")
    await talk.request_approval("refund", {"order": 7}, approval_id="a", actor="agent")
    await app.publish()
    images = [each.id for each in await app.images.list(scene.product)]
    [job] = await app.jobs.list(job_type="run_errand", state="dead" if who == "local" else "cancelled")
    image, gallery = f"/galleries/{scene.product}/{images[-1]}", f"/galleries/{scene.product}"
    picture = {"file": ("a.png", png(width=9 + len(who)), "image/png")}
    denied = {"approval_id": "a", "decision": "denied", "reason": "too late"}
    sent: list[tuple[str, dict[str, Any], Any]] = [
        ("/documents", {"required_evidence": "tsa"}, {"file": ("a.txt", who.encode(), "text/plain")}),
        (f"/documents/{scene.document}/protect", {"required_evidence": "tsa"}, None),
        (f"/conversations/{talk.id}/approvals", denied, None),
        (f"/conversations/{talk.id}/protect", {}, None),
        ("/galleries", {}, picture),
        (gallery, {}, picture),
        (f"{image}/move", {"to": "0"}, None),
        (f"{image}/describe", {"alt": who}, None),
        (f"{image}/render", {}, None),
        (f"{image}/remove", {}, None),
        (f"/jobs/{job.id}/retry", {}, None),
        (f"/jobs/{job.id}/cancel", {}, None),
        ("/jobs/all/retry", {"state": "cancelled"}, None),
        ("/jobs/all/cancel", {"state": "queued", "type": "run_errand"}, None),
        ("/jobs/types/run_errand/pause", {}, None),
        ("/jobs/types/run_errand/resume", {}, None),
        ("/hygiene/scan", {"dry_run": "no"}, None),
        ("/hygiene/purge", {"dry_run": "no"}, None),
        ("/ledger/audit", {}, None),
    ]
    for address, fields, files in sent:
        answer = await client.post(address, data=fields | token, files=files, headers=origin(client))
        assert answer.status_code in (200, 303), (address, answer.text)
    assert (await talk.approval("a")).reason == "too late"


async def send(scene: Scene, call: Call) -> httpx.Response:
    """Send a request; the key that it makes is shown from then on."""
    names = scene.names if call.seq is None else {**scene.names, "seq": call.seq}
    address = scene.names["upload"] if call.path == UPLOAD else call.path.format(**names)
    more = {"json": call.body, "content": call.content, "headers": call.headers}
    answer = await scene.api.client.request(call.method, address, **more)
    if call.path == KEYS:
        made = answer.json()
        scene.names["key_id"] = made["id"]
        scene.api.client.headers.update(bearer(made["key"]))
    return answer


async def note(scene: Scene, path: str, answer: httpx.Response) -> None:
    """Keep the ids of what was made, for the acts that follow."""
    made = answer.json() if answer.content else {}
    if path.startswith(PAPER):
        await scene.new_document()
    elif path == f"{TALK}/approvals":
        scene.names["approval_id"] = made["id"]
    elif path == f"{TALK}/slots/{{token}}/{{seq}}":
        slots = await scene.post(f"{TALK}/slots".format(**scene.names), {"count": 1, "ttl": 600})
        scene.names |= {"token": slots["token"], "seq": str(slots["seqs"][0])}
    elif path == "/v1/webhooks":
        scene.names["webhook_id"] = made["id"]
    elif path == JOBS:
        [job, *_] = await scene.app.jobs.list(job_type=RUN)
        scene.names |= {"job_id": str(job.id), "job_type": RUN}
    elif path == "/v1/uploads":
        scene.names["upload"] = answer.headers["location"]


async def test_a_name_is_shown_beside_its_actor_and_is_in_no_event(
    app: App, admin: psycopg.Connection[Any]
) -> None:
    """A decision was shown as that of `key:yppx…`; a key of another tenant has no name here."""
    key = await make_key(app, installation=True, name="Ana Ruiz")
    other = await make_key(app, tenant="other", name="Eva")
    ana, eva = (f"key:{each.split('_')[1]}" for each in (key, other))
    talk = await app.conversations.open()
    await talk.request_approval("refund", {"order": 7}, approval_id="a")
    async with served(app) as client:
        await log_in(client, key)
        page = f"/conversations/{talk.id}"
        token = form_token(await client.get(page))
        decided = {"approval_id": "a", "decision": "approved", "reason": "it is late", "form_token": token}
        await client.post(f"{page}/approvals", data=decided, headers=origin(client))
        file = {"file": ("a.txt", b"a", "text/plain")}
        added = await client.post(
            "/documents", files=file, data={"form_token": token}, headers=origin(client)
        )
        for address in (page, added.headers["location"], "/access"):
            text = (await client.get(address)).text
            assert f"<bdi>“Ana Ruiz”</bdi> <small>“{ana}”</small>" in text, address
        document = added.headers["location"].rpartition("/")[2]
        trust = (await client.get(f"/v1/documents/{document}/trust")).json()["trust"]
        assert f'name {ana} "Ana Ruiz"' in trust, "a report made offline shows the name by this"
        reader = bearer(await make_key(app, ["read"]))
        asked = {"actor": [ana, eva, "local:luis", "key:000000000000", "constructor"]}
        found = await client.get("/v1/access/names", params=asked, headers=reader)
        assert found.json() == {"names": {ana: "Ana Ruiz", "local:luis": "luis"}}
    assert (await client_name(app, key)) == "Ana Ruiz"
    stored = admin.execute("select count(*) from foja.event where concat(actor, payload) like '%%Ana Ruiz%%'")
    assert stored.fetchone() == (1,)  # `access.changed`, of the key


async def client_name(app: App, key: str) -> str | None:
    """Return the name of who shows a key, as the API gives it."""
    async with served(app) as client:
        found: str | None = (await client.get("/v1/access/me", headers=bearer(key))).json()["name"]
        return found


def test_every_command_names_who_ran_it(run: Run, admin: psycopg.Connection[Any], tmp_path: Path) -> None:
    """`foja chat say`, `protect` and the galleries recorded nobody unless a name was given."""
    talk, product, file = uuid4(), uuid4(), tmp_path / "a.txt"
    file.write_text("the contract")
    (tmp_path / "a.png").write_bytes(png(width=9))
    well(run("chat", "say", talk, "hello"))
    request = {"approval_id": "a", "tool_name": "refund", "tool_args": {}}
    request["expires_at"] = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    well(run("chat", "say", talk, json.dumps(request), "--kind", "approval_requested"))
    well(run("chat", "decide", talk, "a", "denied", "--reason", "too late"))
    well(run("protect", file))
    document = well(run("status", file, "--json")).document["id"]
    well(run("sign", document, file, "--format", "unchecked", "--signer", "Ana"))
    well(run("images", "add", product, tmp_path / "a.png"))
    well(run("images", "describe", product, 0, "a chair"))
    well(run("images", "main", product, 0))
    well(run("images", "remove", product, 0))
    well(run("images", "delete", product))
    hook = well(run("webhooks", "create", "https://example.org/", "--json")).document["id"]
    well(run("webhooks", "off", hook))
    well(run("webhooks", "remove", hook))
    well(run("jobs", "pause", "run_tsa"))
    well(run("access", "create", "--scopes", "admin", "--installation"))
    well(run("keys", "rotate"))
    assert recorded(admin) == {ME}
    well(run("chat", "say", talk, "hello", "--as", "ana"))
    assert recorded(admin) == {ME, "ana"}


def test_the_trust_of_any_stream_names_who_acted_in_it(run: Run, tmp_path: Path) -> None:
    """Reports about an exported history or an event named nobody: `foja trust` took documents alone."""
    talk, file = uuid4(), tmp_path / "a.txt"
    file.write_text("the contract")
    well(run("chat", "say", talk, "hello"))
    well(run("protect", file, "--wait"))
    line = f'name {ME} "{ME.removeprefix("local:")}"'
    for stream in (file, talk):
        assert line in well(run("trust", stream)).lines, stream
    assert line not in well(run("trust")).lines
    history, event, trust = (tmp_path / name for name in ("h.jsonl", "0.foja-proof", "h.trust"))
    well(run("log", "export", talk, "-o", history))
    well(run("log", "prove", talk, 0, "-o", event))
    well(run("trust", talk, "-o", trust))
    for judged in ([history, "--proof", history.with_suffix(".tlog-proof")], [event]):
        report = well(run("verify", *judged, "--trust", trust)).out
        assert f"(so named in the trust given; recorded as “{ME}”)" in report, report
    check_refused(run("trust", uuid4()), 1, "has no sealed events")
