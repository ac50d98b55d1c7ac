"""Tokens and logins of a real OpenID Connect provider (npm oidc-provider)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import psycopg
import pytest

from foja.app import App
from foja.interfaces.web.server import address, bind, serving
from tests.counterparties.oidc import AUDIENCE, CLIENT, OidcProvider, consent, running_provider
from tests.counterparties.ports import free_port
from tests.flow.access.access_scene import bearer, origin
from tests.flow.client.client import served

LIST = "/v1/conversations"
PORT = free_port()
PERSON = {
    "email": "ana@example.org",
    "email_verified": True,
    "name": "Ana Ruiz",
    "tenant": "default",
    "scope": "read write",
}


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with running_provider(f"http://127.0.0.1:{PORT}/login/callback", **PERSON) as provider:
        yield provider


def token(provider: OidcProvider, *, scope: str = "read", resource: str = AUDIENCE) -> str:
    """Return a token that the provider issues to a program."""
    form = {"grant_type": "client_credentials", "scope": scope, "resource": resource}
    answer = httpx.post(f"{provider.url}/token", data=form, auth=("robot", "robot-secret"), timeout=60)
    return str(answer.json()["access_token"])


def settings_of(provider: OidcProvider) -> dict[str, str]:
    return {"jwt_issuer": provider.url, "jwt_audience": AUDIENCE}


async def test_a_program_uses_a_token_with_its_scopes_and_its_audience(
    provider: OidcProvider, open_app: Callable[..., App]
) -> None:
    async with open_app(**settings_of(provider)) as app, served(app) as client:
        assert (await client.get(LIST)).status_code == 401
        reader = bearer(token(provider))
        assert (await client.get(LIST, headers=reader)).status_code == 200
        assert (await client.post(LIST, json={}, headers=reader)).status_code == 403
        me = (await client.get("/v1/access/me", headers=bearer(token(provider, scope="admin")))).json()
        assert (me["actor"], me["scopes"], me["credential"]) == ("user:robot", ["admin"], "token")
        assert not me["installation"]
        other = bearer(token(provider, resource="https://other.example/api"))
        assert (await client.get(LIST, headers=other)).status_code == 401
        cut = token(provider)[:-4] + "AAAA"
        assert (await client.get(LIST, headers=bearer(cut))).status_code == 401


async def test_rotated_keys_are_found_and_the_provider_may_be_away(
    provider: OidcProvider, open_app: Callable[..., App]
) -> None:
    async with open_app(**settings_of(provider)) as app, served(app) as client:
        first, unused = token(provider), token(provider)
        assert (await client.get(LIST, headers=bearer(first))).status_code == 200
        provider.stop()
        assert (await client.get(LIST, headers=bearer(unused))).status_code == 200  # its key is known
        async with open_app(**settings_of(provider)) as fresh, served(fresh) as new:
            away = await new.get(LIST, headers=bearer(first))
            assert (away.status_code, away.json()["error"]) == (503, "Unavailable")
            assert (await new.get("/healthz")).status_code == 200
        provider.start(keys="second")
        later = token(provider)
        assert jwt.get_unverified_header(later)["kid"] == "second"
        assert (await client.get(LIST, headers=bearer(later))).status_code == 200
        provider.stop()
        provider.start(keys="third")
        # Unknown keys are read at most once a minute: a flood of made-up names does not reach the provider.
        assert (await client.get(LIST, headers=bearer(token(provider)))).status_code == 401
        assert (await client.get(LIST, headers=bearer(later))).status_code == 200


async def test_a_person_logs_in_by_openid_connect(
    provider: OidcProvider, open_app: Callable[..., App], database_url: str
) -> None:
    async with open_app(oidc_issuer=provider.url, oidc_client_id=CLIENT, web_port=PORT) as app:
        with bind("127.0.0.1", PORT, expose=False) as listener:
            async with serving(app, listener), httpx.AsyncClient(base_url=address(listener)) as browser:
                await check_login(browser, app, database_url)


async def check_login(browser: httpx.AsyncClient, app: App, database_url: str) -> None:
    assert "/login/start?next=/conversations" in (await browser.get("/login?next=/conversations")).text
    started = await browser.get("/login/start?next=/conversations")
    question = parse_qs(urlsplit(started.headers["location"]).query)
    assert question["code_challenge_method"] == ["S256"]
    assert "SameSite=lax" in started.headers["set-cookie"]
    back = await consent(started.headers["location"])
    async with httpx.AsyncClient() as stranger:
        elsewhere = await stranger.get(back, timeout=60)
    assert elsewhere.status_code == 403  # the same link in another browser: it began no login
    forged = back.replace("state=", "state=x")
    assert (await browser.get(forged)).status_code == 401
    answer = await browser.get(back)
    assert (answer.status_code, "foja-session" in browser.cookies) == (200, True)
    assert 'http-equiv="refresh" content="0; url=/conversations"' in answer.text
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert "<script" not in answer.text
    me = (await browser.get("/v1/access/me")).json()
    assert (me["actor"], me["scopes"], me["tenant"]) == ("user:ana@example.org", ["read", "write"], "default")
    written = await browser.post(LIST, json=message(), headers=origin(browser))
    assert written.json()["event"]["actor"] == "user:ana@example.org"
    page = await browser.get(f"/conversations/{written.json()['id']}")
    assert "<bdi>“Ana Ruiz”</bdi> <small>“user:ana@example.org”</small>" in page.text
    assert (await browser.get(back)).status_code in (401, 403)  # a code is used once
    check_recorded(database_url)
    other = await browser.get("/login/start")
    code = await consent(other.headers["location"])
    kept = browser.cookies["foja-session"]
    assert (await browser.get(code)).status_code == 200
    assert browser.cookies["foja-session"] != kept  # a new login is a new session


def check_recorded(database_url: str) -> None:
    with psycopg.connect(database_url) as conn:
        rows: list[Any] = conn.execute(
            "select actor, payload ->> 'action', payload ->> 'name' from foja.event"
            " where kind = 'access.changed'"
        ).fetchall()
    ana = "user:ana@example.org"
    assert rows == [(ana, "person.named", "Ana Ruiz"), (ana, "session.opened", None)]


def message() -> dict[str, Any]:
    return {"event": {"kind": "user_message_sent", "payload": {"content": "hi"}}}


async def test_a_login_fails_plainly_while_the_provider_is_away(
    provider: OidcProvider, open_app: Callable[..., App]
) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    async with open_app(oidc_issuer=nowhere, oidc_client_id=CLIENT) as app, served(app) as client:
        answer = await client.get("/login/start")
        assert (answer.status_code, answer.json()["error"]) == (503, "Unavailable")
        assert (await client.get("/login")).status_code == 200  # a key still works


async def test_a_token_for_another_client_is_refused_at_the_login(
    provider: OidcProvider, open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider issues a good token, but for the client `other`: the audience is wrong."""
    async with open_app(oidc_issuer=provider.url, oidc_client_id="other", web_port=PORT) as app:
        with bind("127.0.0.1", PORT, expose=False) as listener:
            async with serving(app, listener), httpx.AsyncClient(base_url=address(listener)) as browser:
                started = await browser.get("/login/start")
                back = await consent(started.headers["location"])
                assert app.access.provider is not None
                monkeypatch.setattr(app.access.provider, "_audience", CLIENT)
                answer = await browser.get(back)
                assert (answer.status_code, answer.json()["error"]) == (401, "NotAuthenticated")
                assert "foja-session" not in browser.cookies
