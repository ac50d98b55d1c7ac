"""Keys and sessions over HTTP: who gets in, who does not, and what is recorded."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from foja.app import App
from foja.errors import BadPayload, NotAllowed, UnknownEntity
from foja.pure.models.access.key import key_with_id
from foja.pure.models.access.key import make_key as format_key
from tests.cases import all_cases
from tests.flow.access.access_scene import ME, bearer, form_token, log_in, make_key, origin
from tests.flow.client.client import SAY, served

Admin = psycopg.Connection[Any]
LIST = "/v1/conversations"
MESSAGE = {"event": {"kind": SAY, "payload": {"content": "hi"}}}


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with served(app) as client:
        yield client


def acts(admin: Admin) -> list[tuple[Any, ...]]:
    """Return what was recorded about keys and sessions: tenant, actor and action, in order."""
    return admin.execute(
        "select tenant, actor, payload ->> 'action' from foja.event where kind = 'access.changed'"
        " order by at, seq"
    ).fetchall()


def check_refused(answer: httpx.Response, status: int, error: str) -> None:
    assert (answer.status_code, answer.json()["error"]) == (status, error), answer.text


async def test_without_a_key_the_local_user_is_administrator(client: httpx.AsyncClient) -> None:
    found = (await client.get("/v1/access/me")).json()
    assert (found["actor"], found["credential"], found["installation"]) == (ME, "local", True)
    assert (await client.post(LIST, json=MESSAGE)).json()["event"]["actor"] == ME


@all_cases(
    "headers",
    [
        {"Forwarded": "for=192.0.2.1"},
        {"X-Forwarded-For": "192.0.2.1"},
        {"X-Forwarded-Proto": "https"},
        {"X-Real-IP": "192.0.2.1"},
        {"Via": "1.1 proxy"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
async def test_without_a_key_no_proxy_and_no_foreign_page_is_served(
    client: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    check_refused(await client.get(LIST, headers=headers), 403, "NotAllowed")
    check_refused(await client.get("/metrics", headers=headers), 403, "NotAllowed")
    assert (await client.get("/healthz", headers=headers)).status_code == 200


async def test_the_first_key_ends_the_reign_of_the_local_user(app: App, client: httpx.AsyncClient) -> None:
    assert (await client.get(LIST)).status_code == 200
    created = await client.post("/v1/access/keys", json={"scopes": ["admin"], "installation": True})
    assert created.status_code == 201
    assert created.headers["cache-control"] == "no-store"
    key = created.json()["key"]
    answer = await client.get(LIST)
    check_refused(answer, 401, "NotAuthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    check_refused(await client.get("/metrics"), 401, "NotAuthenticated")
    assert (await client.get("/healthz")).status_code == 200
    assert (await client.get(LIST, headers=bearer(key))).status_code == 200
    assert (await client.get("/metrics", headers=bearer(key))).status_code == 200


async def test_a_tenant_cannot_read_the_numbers_of_another_tenant(
    app: App, client: httpx.AsyncClient
) -> None:
    """The metrics are sums over all tenants: they are for keys of the installation."""
    other = await app.tenant("other").conversations.open()
    await other.append("user_message_sent", {"content": "hi"})
    for scopes in (["operate"], ["admin"]):
        own = bearer(await make_key(app, scopes, tenant="acme"))
        answer = await client.get("/metrics", headers=own)
        check_refused(answer, 403, "NotAllowed")
        assert "--installation" in answer.json()["detail"]
        alerts = await client.get("/alerts", headers=own)
        assert (alerts.status_code, str(other.id) in alerts.text) == (200, False)
    operator = bearer(await make_key(app, ["operate"], installation=True))
    assert "foja_events_total" in (await client.get("/metrics", headers=operator)).text
    reader = bearer(await make_key(app, ["read"], installation=True))
    check_refused(await client.get("/metrics", headers=reader), 403, "NotAllowed")


async def test_a_key_gives_its_scopes_and_signs_what_it_writes(app: App, client: httpx.AsyncClient) -> None:
    reader, writer = await make_key(app, ["read"]), await make_key(app, ["write"])
    approver = await make_key(app, ["approve"])
    check_refused(await client.post(LIST, json=MESSAGE, headers=bearer(reader)), 403, "NotAllowed")
    check_refused(await client.get(LIST, headers=bearer(writer)), 403, "NotAllowed")
    check_refused(await client.get("/v1/access/keys", headers=bearer(writer)), 403, "NotAllowed")
    check_refused(await client.get("/metrics", headers=bearer(writer)), 403, "NotAllowed")
    made = (await client.post(LIST, json=MESSAGE, headers=bearer(writer))).json()
    assert made["event"]["actor"] == f"key:{writer.split('_')[1]}"
    named = {"event": {**MESSAGE["event"], "actor": "ana"}}
    assert (await client.post(LIST, json=named, headers=bearer(writer))).json()["event"]["actor"] == "ana"
    url = f"{LIST}/{made['id']}/approvals"
    asked = await client.post(url, json={"tool_name": "t", "tool_args": {}}, headers=bearer(writer))
    decision = f"{url}/{asked.json()['id']}"
    body = {"decision": "approved"}
    check_refused(await client.post(decision, json=body, headers=bearer(writer)), 403, "NotAllowed")
    decided = await client.post(decision, json=body, headers=bearer(approver))
    assert decided.json()["decided_by"] == f"key:{approver.split('_')[1]}"


async def test_unknown_wrong_expired_and_foreign_keys_get_one_answer(
    app: App, client: httpx.AsyncClient, admin: Admin
) -> None:
    key = await make_key(app, ["read"])
    expired = await make_key(app, ["read"], expires_at=datetime.now(UTC) + timedelta(days=1))
    admin.execute("update foja.access_key set expires_at = now() where key_id = %s", [expired.split("_")[1]])
    foreign = format_key(b"another installation", b"y" * 32).text
    wrong = key_with_id(key.split("_")[1], b"z" * 32).text
    typo = key[:-1] + ("0" if key[-1] != "0" else "1")
    answers = [
        await client.get(LIST, headers=bearer(each)) for each in (foreign, wrong, expired, typo, "x", "a.b.c")
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    for header in ("Basic eDp5", "Bearer", f"bearer\t{key}", key):
        assert (await client.get(LIST, headers={"Authorization": header})).status_code == 401
    assert (await client.get(LIST, headers=bearer(key))).status_code == 200


async def test_a_key_manages_the_keys_of_its_own_tenant_only(
    app: App, client: httpx.AsyncClient, admin: Admin
) -> None:
    root = bearer(await make_key(app, ["admin"], installation=True))
    mine = await make_key(app, ["admin"])
    other = (await app.access.keys.create("acme", ["read"])).id
    owner = next(
        each
        for each in (await client.get("/v1/access/keys", headers=root)).json()["keys"]
        if each["installation"]
    )
    shown = (await client.get("/v1/access/keys", headers=bearer(mine))).json()["keys"]
    assert [each["id"] for each in shown] == [mine.split("_")[1]]
    for foreign in (other, owner["id"], "000000000000", "%00"):
        for verb in ("revoke", "rotate"):
            answer = await client.post(f"/v1/access/keys/{foreign}/{verb}", json={}, headers=bearer(mine))
            assert answer.status_code == (400 if foreign == "%00" else 404), answer.text
    for more in ({"tenant": "acme"}, {"installation": True}):
        body = {"scopes": ["read"], **more}
        check_refused(
            await client.post("/v1/access/keys", json=body, headers=bearer(mine)), 403, "NotAllowed"
        )
        assert (await client.post("/v1/access/keys", json=body, headers=root)).status_code == 201
    assert len((await client.get("/v1/access/keys", headers=root)).json()["keys"]) == 5
    assert {tenant for tenant, *_ in acts(admin)} == {"system", "default", "acme"}


async def test_a_rotated_key_overlaps_and_then_ends(app: App, client: httpx.AsyncClient) -> None:
    root, key = bearer(await make_key(app)), await make_key(app, ["read"])
    url = f"/v1/access/keys/{key.split('_')[1]}/rotate"
    new = (await client.post(url, json={"overlap_seconds": 600}, headers=root)).json()["key"]
    for each in (key, new):
        assert (await client.get(LIST, headers=bearer(each))).status_code == 200
    newest = (await client.post(url, json={"overlap_seconds": 0}, headers=root)).json()["key"]
    for each in (key, new):
        await until_status(client, LIST, 401, bearer(each))
    assert (await client.get(LIST, headers=bearer(newest))).status_code == 200
    with pytest.raises(BadPayload):
        await app.access.keys.rotate(key.split("_")[1], overlap_seconds=-1)


async def test_every_change_is_recorded_with_its_actor(app: App, admin: Admin) -> None:
    key = await app.access.keys.create("acme", ["read"], name="crm", actor="ana")
    await app.access.keys.rotate(key.id, actor="eva")
    assert await app.access.keys.revoke(key.id, actor="bea")
    assert not await app.access.keys.revoke(key.id, actor="bea")
    assert acts(admin) == [
        ("acme", "ana", "key.created"),
        ("acme", "eva", "key.rotated"),
        ("acme", "bea", "key.revoked"),
    ]
    with pytest.raises(UnknownEntity):
        await app.access.keys.of("other").revoke(key.id)
    with pytest.raises(NotAllowed, match="unknown scope"):
        await app.access.keys.create("acme", ["root"])
    with pytest.raises(BadPayload):
        await app.access.keys.create("system", ["read"])


async def test_what_a_key_does_about_jobs_is_recorded_under_its_name(
    app: App, client: httpx.AsyncClient, admin: Admin
) -> None:
    key, weak = await make_key(app, ["admin"], installation=True), await make_key(app, ["admin"])
    for verb in ("pause", "resume"):
        answer = await client.post(f"/v1/jobs/types/run_tsa/{verb}", headers=bearer(key))
        assert answer.status_code == 200, answer.text
        tenants = await client.post(f"/v1/jobs/types/run_tsa/{verb}", headers=bearer(weak))
        assert tenants.status_code == 403, tenants.text
    document = await app.documents.add(b"x")
    await document.protect()
    chosen = {"entity_id": str(document.id), "state": "queued"}
    assert (await client.post("/v1/jobs/cancel", json=chosen, headers=bearer(key))).json()["done"] == 1
    query = "select actor, payload ->> 'action' from foja.event where kind = 'job.changed' order by 2"
    name = f"key:{key.split('_')[1]}"
    assert admin.execute(query).fetchall() == [(name, "cancel"), (name, "pause"), (name, "resume")]


async def test_a_key_of_another_tenant_sees_nothing_of_this_one(app: App, client: httpx.AsyncClient) -> None:
    mine, other = await make_key(app, ["admin"]), await make_key(app, ["admin"], tenant="acme")
    made = (await client.post(LIST, json=MESSAGE, headers=bearer(mine))).json()
    assert (await client.get(LIST, headers=bearer(other))).json()["conversations"] == []
    assert (await client.get(f"{LIST}/{made['id']}", headers=bearer(other))).status_code == 404
    assert (await client.get(f"{LIST}/{made['id']}", headers=bearer(mine))).status_code == 200


async def test_the_use_of_a_key_is_noted(app: App, client: httpx.AsyncClient) -> None:
    key = await make_key(app, ["read"])
    assert (await app.access.keys.list())[0].last_used_at is None
    await client.get(LIST, headers=bearer(key))
    noted: list[Any] = []
    while not noted:
        noted = [each.last_used_at for each in await app.access.keys.list() if each.last_used_at]
    await client.get(LIST, headers=bearer(key))
    assert [each.last_used_at for each in await app.access.keys.list()] == noted


async def test_a_person_logs_in_with_a_key_and_out_again(
    app: App, client: httpx.AsyncClient, admin: Admin
) -> None:
    key = await make_key(app, ["read", "write"])
    actor = f"key:{key.split('_')[1]}"
    sent = await client.get("/conversations?lang=es", headers={"Accept": "text/html"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=/conversations%3Flang%3Des")
    entered = await log_in(client, key, "/conversations?lang=es")
    assert (entered.status_code, entered.headers["location"]) == (303, "/conversations?lang=es")
    cookie = entered.headers["set-cookie"]
    assert cookie.startswith("foja-session=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Domain" not in cookie
    assert (await client.get("/conversations")).status_code == 200
    assert (await client.get("/v1/access/me")).json()["actor"] == actor
    secret = client.cookies["foja-session"]
    stored = admin.execute("select s::text from foja.access_session s").fetchall()
    assert secret not in str(stored)
    page = await client.get("/login")
    assert actor in page.text
    left = await client.post("/logout", data={"form_token": form_token(page)}, headers=origin(client))
    assert left.status_code == 303
    again = await client.get(LIST, headers={"Cookie": f"foja-session={secret}"})
    check_refused(again, 401, "NotAuthenticated")
    assert [act for *_, act in acts(admin)] == ["key.created", "session.opened", "session.ended"]


async def test_a_login_gives_a_new_session_and_ends_a_planted_one(
    app: App, client: httpx.AsyncClient
) -> None:
    """Session fixation: an attacker plants a cookie, the person logs in, the attacker has nothing."""
    attacker, person = await make_key(app, ["read"]), await make_key(app, ["admin"])
    await log_in(client, attacker)
    planted = client.cookies["foja-session"]
    for before in (planted, "made-up-by-the-attacker"):
        client.cookies.set("foja-session", before, domain=str(client.base_url.host))
        client.cookies.delete("foja-session")
        client.headers["Cookie"] = f"foja-session={before}"
        page = await client.get("/login")
        login = page.cookies.get("foja-login")
        if login is None:  # the planted session is valid: the page offers to log out
            assert before == planted
            page = await client.get("/login", headers={"Cookie": ""})
            login = page.cookies["foja-login"]
        del client.headers["Cookie"]
        cookies = f"foja-session={before}; foja-login={login}"
        form = {"key": person, "form_token": form_token(page)}
        entered = await client.post("/login", data=form, headers={**origin(client), "Cookie": cookies})
        assert entered.status_code == 303
        new = entered.cookies["foja-session"]
        assert new != before
        client.cookies.clear()
        stolen = await client.get("/v1/access/me", headers={"Cookie": f"foja-session={before}"})
        check_refused(stolen, 401, "NotAuthenticated")
        mine = await client.get("/v1/access/me", headers={"Cookie": f"foja-session={new}"})
        assert mine.json()["scopes"] == ["admin"]
        client.cookies.clear()


async def test_a_stolen_session_can_be_revoked(app: App, client: httpx.AsyncClient, admin: Admin) -> None:
    root, key = bearer(await make_key(app)), await make_key(app, ["read"])
    await log_in(client, key)
    stolen = {"Cookie": f"foja-session={client.cookies['foja-session']}"}
    client.cookies.clear()
    assert (await client.get(LIST, headers=stolen)).status_code == 200
    [session] = (await client.get("/v1/access/sessions", headers=root)).json()["sessions"]
    answer = await client.post(f"/v1/access/sessions/{session['id']}/revoke", headers=root)
    assert answer.json() == {"id": session["id"], "revoked": True}
    await until_status(client, LIST, 401, stolen)
    assert (await client.get("/v1/access/sessions", headers=root)).json()["sessions"] == []
    assert acts(admin)[-1][2] == "session.revoked"
    for odd in ("x", "00000000-0000-0000-0000-000000000000"):
        assert (await client.post(f"/v1/access/sessions/{odd}/revoke", headers=root)).status_code == 404


async def test_a_session_ends_with_its_key(app: App, client: httpx.AsyncClient) -> None:
    key = await make_key(app, ["read"])
    await log_in(client, key)
    assert (await client.get(LIST)).status_code == 200
    await app.access.keys.revoke(key.split("_")[1])
    await until_status(client, LIST, 401)


@pytest.mark.parametrize("column", ["ends_at = now()", "seen_at = now() - idle"])
async def test_a_session_ends_by_itself(open_app: Callable[..., App], admin: Admin, column: str) -> None:
    async with open_app() as app, served(app) as client:
        await log_in(client, await make_key(app, ["read"]))
        admin.execute(f"update foja.access_session set {column}")
        check_refused(await client.get(LIST), 401, "NotAuthenticated")


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ({"Origin": "https://evil.example"}, True),
        ({"Origin": "null"}, True),
        ({}, True),
        ({"Sec-Fetch-Site": "cross-site"}, True),
        ({"Origin": "own"}, False),
    ],
)
async def test_a_page_of_another_site_cannot_use_a_session(
    app: App, client: httpx.AsyncClient, admin: Admin, headers: dict[str, str], token: bool
) -> None:
    """CSRF: the browser sends the cookie along with a form or a request of another site."""
    await log_in(client, await make_key(app))
    page = await client.get("/login")
    headers = {**headers, **origin(client)} if headers.get("Origin") == "own" else headers
    form = {"form_token": form_token(page) if token else "guessed"}
    check_refused(await client.post("/logout", data=form, headers=headers), 403, "NotAllowed")
    if token:
        check_refused(await client.post(LIST, json=MESSAGE, headers=headers), 403, "NotAllowed")
    text = {**headers, "Content-Type": "text/plain"}
    check_refused(await client.post(LIST, content='{"event":null}', headers=text), 403, "NotAllowed")
    assert (await client.get(LIST)).json()["conversations"] == []
    assert (await client.post(LIST, json=MESSAGE, headers=origin(client))).status_code == 201


async def test_a_login_cannot_be_sent_by_another_site(app: App, client: httpx.AsyncClient) -> None:
    """Login CSRF: the person would work in the attacker's session."""
    key = await make_key(app, ["read"])
    page = await client.get("/login")
    form = {"key": key, "form_token": form_token(page)}
    for headers in ({"Origin": "https://evil.example"}, {}):
        check_refused(await client.post("/login", data=form, headers=headers), 403, "NotAllowed")
    wrong = {"key": key, "form_token": "x"}
    check_refused(await client.post("/login", data=wrong, headers=origin(client)), 403, "NotAllowed")
    client.cookies.clear()
    check_refused(await client.post("/login", data=form, headers=origin(client)), 403, "NotAllowed")
    assert not await app.access.sessions.list()


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x"]
)
async def test_a_login_leads_to_no_other_site(app: App, client: httpx.AsyncClient, target: str) -> None:
    assert (await log_in(client, await make_key(app), target)).headers["location"] == "/"


async def test_a_wrong_key_is_refused_at_the_login(app: App, client: httpx.AsyncClient) -> None:
    await make_key(app)
    for wrong in ("", "x" * 5000, format_key(b"i", b"s").text):
        answer = await log_in(client, wrong)
        assert (answer.status_code, "refused" in answer.text) == (401, True)
        assert "foja-session" not in client.cookies


async def test_a_person_writes_under_its_own_name_only(app: App, client: httpx.AsyncClient) -> None:
    key = await make_key(app, ["write"])
    await log_in(client, key)
    forged = {"event": {**MESSAGE["event"], "actor": "the director"}}
    check_refused(await client.post(LIST, json=forged, headers=origin(client)), 403, "NotAllowed")
    written = await client.post(LIST, json=MESSAGE, headers=origin(client))
    assert written.json()["event"]["actor"] == f"key:{key.split('_')[1]}"


async def test_over_https_the_cookie_belongs_to_this_host_alone(open_app: Callable[..., App]) -> None:
    """A proxy that is trusted says that the client uses HTTPS; others are not believed."""
    https = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "foja.example"}
    async with open_app(trusted_proxies="127.0.0.0/8") as app, served(app) as client:
        key = await make_key(app, ["read"])
        page = await client.get("/login", headers=https)
        assert page.headers["set-cookie"].startswith("__Host-foja-login=")
        assert "Secure" in page.headers["set-cookie"]
        assert "SameSite=lax" in page.headers["set-cookie"]
        cookie = {"Cookie": f"__Host-foja-login={page.cookies['__Host-foja-login']}"}
        form = {"key": key, "form_token": form_token(page)}
        sent = {**https, **cookie, "Origin": "https://foja.example"}
        entered = await client.post("/login", data=form, headers=sent)
        assert (entered.status_code, "Secure" in entered.headers["set-cookie"]) == (303, True)
        session = f"__Host-foja-session={entered.cookies['__Host-foja-session']}"
        assert (await client.get(LIST, headers={**https, "Cookie": session})).status_code == 200
    async with open_app() as app, served(app) as client:
        page = await client.get("/login", headers=https)
        assert page.headers["set-cookie"].startswith("foja-login=")
        assert (await client.get("/login", headers={"Host": "foja.example"})).status_code == 403


async def test_a_planted_secret_is_nowhere(
    app: App, client: httpx.AsyncClient, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither logs, nor errors, nor metrics, nor any row of the database has a key, a cookie or a token."""
    caplog.set_level(logging.DEBUG)
    key = await make_key(app, ["admin"], name="planted", installation=True)
    cookie = (await log_in(client, key)).cookies["foja-session"]
    client.cookies.clear()
    wrong = key_with_id(key.split("_")[1], b"q" * 32).text
    secrets = [each.rpartition("_")[0].rpartition("_")[2] for each in (key, wrong)] + [cookie]
    answers = [
        await client.get(f"{LIST}/{key}", headers=bearer(key)),
        await client.get(LIST, headers=bearer(wrong)),
        await client.get(LIST, headers={"Cookie": f"foja-session={cookie}x"}),
        await client.post("/v1/access/keys", json={"scopes": [key]}, headers=bearer(key)),
        await client.post(f"/v1/access/keys/{key}/revoke", headers=bearer(key)),
        await client.post(LIST, json={"id": key}, headers=bearer(key)),
        await client.get("/metrics", headers=bearer(key)),
        await client.get("/v1/access/keys", headers=bearer(key)),
        await client.get("/v1/access/sessions", headers=bearer(key)),
    ]
    rows = [
        str(admin.execute(f"select t::text from {table} t").fetchall())
        for table in ("foja.access_key", "foja.access_secret", "foja.access_session", "foja.event")
    ]
    ours = [each.getMessage() for each in caplog.records if not each.name.startswith("http")]
    texts = [*ours, *rows, *(answer.text for answer in answers)]
    assert [text for secret in secrets for text in texts if secret in text] == []


async def until_status(
    client: httpx.AsyncClient, path: str, status: int, headers: dict[str, str] | None = None
) -> httpx.Response:
    """Ask until an answer has a status: a change reaches every process within a second."""
    while True:
        answer = await client.get(path, headers=headers)
        if answer.status_code == status:
            return answer


async def test_a_key_that_is_made_without_an_end_expires_after_a_year(
    app: App, client: httpx.AsyncClient
) -> None:
    """As with the command; over HTTP and on the page it never expired."""
    root = bearer(await make_key(app, installation=True))
    made: dict[str, dict[str, None]] = {"plain": {}, "never": {"expires_at": None}}
    for name, more in made.items():
        body = {"scopes": ["read"], "name": name, **more}
        assert (await client.post("/v1/access/keys", json=body, headers=root)).status_code == 201
    form = {"scopes": ["read"], "name": "page"}
    assert (await client.post("/access/keys", data=form, headers=root)).status_code == 200
    ends = {each.name: each.expires_at for each in await app.access.keys.list()}
    assert ends["never"] is None
    year = datetime.now(UTC) + timedelta(days=365)
    for name in ("plain", "page"):
        end = ends[name]
        assert end is not None
        assert year - timedelta(hours=1) < end <= year


async def test_the_page_says_that_a_key_has_expired(
    app: App, client: httpx.AsyncClient, admin: Admin
) -> None:
    root = bearer(await make_key(app))
    await make_key(app, ["read"], name="old", expires_at=datetime.now(UTC) + timedelta(days=1))
    admin.execute("update foja.access_key set expires_at = now() where name = 'old'")
    page = (await client.get("/access?lang=en", headers=root)).text
    assert ">expired<" in page
