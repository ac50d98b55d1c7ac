"""Forged and unfit bearer tokens, against the real keys of an issuer."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.warnings import InsecureKeyLengthWarning

from foja.app import App
from foja.domains.access import issuer as issuer_module
from foja.domains.access.issuer import Issuer
from foja.engine.settings import load
from foja.errors import NotAuthenticated, SetupFailed, Unavailable
from tests.counterparties.http_server import listening
from tests.flow.client.client import SAY, served

AUDIENCE = "foja-api"
LIMIT = 60.0
KEY = rsa.generate_private_key(65537, 2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
PEM = KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


def public(kid: str = "one", key: Any = KEY, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    return {**found, "kid": kid, "key_ops": ["verify"], **more}


class Server(ThreadingHTTPServer):
    """Serves the keys of an issuer, and counts how often they are read."""

    keys: list[dict[str, Any]]
    reads = 0
    answer: Callable[[str], tuple[int, bytes]] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if self.server.answer:
            status, body = self.server.answer(self.path)
        elif self.path == "/jwks":
            self.server.reads += 1
            status, body = 200, json.dumps({"keys": self.server.keys}).encode()
        else:
            known = {"issuer": self.server.url, "jwks_uri": f"{self.server.url}/jwks"}
            status, body = 200, json.dumps(known).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    with listening(server):
        server.keys = [public()]
        yield server


def claims_of(server: Server, **more: Any) -> dict[str, Any]:
    later = datetime.now(UTC) + timedelta(minutes=5)
    claims = {"iss": server.url, "aud": AUDIENCE, "sub": "7", "exp": later, **more}
    return {name: value for name, value in claims.items() if value is not None}


def signed(server: Server, *, kid: str = "one", key: Any = KEY, alg: str = "RS256", **more: Any) -> str:
    return jwt.encode(claims_of(server, **more), key, alg, headers={"kid": kid})


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def issuer_of(server: Server) -> Issuer:
    return Issuer(server.url, algorithms="RS256 ES256")


async def test_a_good_token_is_accepted(server: Server) -> None:
    claims = await issuer_of(server).claims(signed(server, scope="read"), AUDIENCE)
    assert (claims["sub"], claims["scope"]) == ("7", "read")


@pytest.mark.parametrize(
    "unfit",
    [
        {"exp": None},
        {"exp": 1},
        {"sub": None},
        {"aud": None},
        {"aud": "another"},
        {"iss": None},
        {"iss": "https://another.example"},
        {"nbf": 4_000_000_000},
    ],
    ids=str,
)
async def test_a_token_that_is_unfit_is_refused(server: Server, unfit: dict[str, Any]) -> None:
    with pytest.raises(NotAuthenticated):
        await issuer_of(server).claims(signed(server, **unfit), AUDIENCE)


async def test_forged_tokens_are_refused(server: Server) -> None:
    """`alg=none`, HS256 with the public key as its secret, another key, another algorithm, odd headers."""
    payload = {**claims_of(server), "exp": 4_000_000_000}
    body = part(payload)
    none = [f"{part({'alg': alg, 'kid': 'one'})}.{body}." for alg in ("none", "None", "NONE", "")]
    head = f"{part({'alg': 'HS256', 'kid': 'one'})}.{body}"
    mac = base64.urlsafe_b64encode(hmac.digest(PEM, head.encode(), "sha256")).rstrip(b"=").decode()
    other = rsa.generate_private_key(65537, 2048)
    embedded = jwt.encode(payload, other, "RS256", headers={"kid": "one", "jwk": public()})
    forged = [
        *none,
        f"{head}.{mac}",
        signed(server, key=other),
        signed(server, key=CURVE, alg="ES256"),  # the key of this name is another sort of key
        signed(server, alg="PS256"),  # not among those that are accepted
        embedded,
        f"{part({'alg': 'RS256', 'kid': ['one']})}.{body}.AAAA",
        f"{part({'alg': 'RS256', 'kid': 'one', 'crit': ['x']})}.{body}.AAAA",
        "..",
        "a.b.c",
        "é.é.é",
        signed(server) + "x" * 20_000,
    ]
    issuer = issuer_of(server)
    for token in forged:
        with pytest.raises(NotAuthenticated):
            await issuer.claims(token, AUDIENCE)


async def test_an_rsa_key_of_1024_bits_is_not_used(server: Server) -> None:
    """A token that such a key of the issuer had signed was accepted."""
    small = rsa.generate_private_key(65537, 1024)
    server.keys = [public(), public("small", small)]
    issuer = issuer_of(server)
    assert (await issuer.claims(signed(server), AUDIENCE))["sub"] == "7"
    with pytest.warns(InsecureKeyLengthWarning):
        token = signed(server, key=small, kid="small")
    with pytest.raises(NotAuthenticated, match="below 2048 bits"):
        await issuer.claims(token, AUDIENCE)


async def test_keys_that_do_not_sign_are_not_used(server: Server) -> None:
    shared = {"kty": "oct", "kid": "one", "k": part("secret"), "alg": "HS256"}
    for keys in ([shared], [public(use="enc")], [{"kty": "RSA"}], ["x"], []):
        server.keys = keys  # type: ignore[assignment]
        with pytest.raises(NotAuthenticated):
            await issuer_of(server).claims(signed(server), AUDIENCE)


async def test_a_new_key_is_read_at_once_and_made_up_names_once_a_minute(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = issuer_of(server)
    await issuer.claims(signed(server), AUDIENCE)
    server.keys = [public("two")]
    await issuer.claims(signed(server, kid="two"), AUDIENCE)
    with pytest.raises(NotAuthenticated):
        await issuer.claims(signed(server, kid="one"), AUDIENCE)  # it was withdrawn
    for n in range(5):
        with pytest.raises(NotAuthenticated):
            await issuer.claims(signed(server, kid=f"made-up-{n}"), AUDIENCE)
    assert server.reads == 2
    monkeypatch.setattr(issuer_module, "UNKNOWN_SECONDS", 0)
    server.keys = [public("three")]
    await issuer.claims(signed(server, kid="three"), AUDIENCE)
    assert server.reads == 3


@pytest.mark.parametrize(
    "answer",
    [
        (500, b""),
        (200, b"no json"),
        (200, b"[]"),
        (302, b""),
        (200, b"x" * 300_000),
        (200, b'{"issuer":"https://x"}'),
    ],
    ids=str,
)
async def test_an_issuer_that_answers_nonsense_is_away(server: Server, answer: tuple[int, bytes]) -> None:
    server.answer = lambda _: answer
    with pytest.raises(Unavailable):
        await issuer_of(server).claims(signed(server), AUDIENCE)


async def test_known_keys_are_used_while_the_issuer_is_away(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = issuer_of(server)
    await issuer.claims(signed(server), AUDIENCE)
    server.answer = lambda _: (503, b"")
    monkeypatch.setattr(issuer_module, "MAX_AGE_SECONDS", 0)
    await issuer.claims(signed(server), AUDIENCE)
    monkeypatch.setattr(issuer_module, "AWAY_SECONDS", 0)
    with pytest.raises(Unavailable, match="503"):
        await issuer.claims(signed(server), AUDIENCE)


async def test_an_issuer_that_is_away_is_asked_every_few_seconds_at_most(server: Server) -> None:
    asked: list[str] = []

    def away(path: str) -> tuple[int, bytes]:
        asked.append(path)
        return 503, b""

    server.answer, issuer = away, issuer_of(server)
    for _ in range(5):
        with pytest.raises(Unavailable):
            await issuer.claims(signed(server), AUDIENCE)
    assert len(asked) == 1


async def test_keys_are_kept_if_the_answer_has_none_and_dropped_if_it_has_an_empty_list(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer_module, "RETRY_SECONDS", 0)
    monkeypatch.setattr(issuer_module, "MAX_AGE_SECONDS", 0)
    issuer = issuer_of(server)
    await issuer.claims(signed(server), AUDIENCE)
    server.answer = lambda _: (200, b"<html>maintenance</html>")
    await issuer.claims(signed(server), AUDIENCE)
    server.answer = lambda _: (200, b'{"keys": []}')
    with pytest.raises(NotAuthenticated):
        await issuer.claims(signed(server), AUDIENCE)


async def test_a_token_whose_key_was_withdrawn_ends_everywhere(
    server: Server, open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that was accepted before, and a stream that it opened."""
    monkeypatch.setattr(issuer_module, "MAX_AGE_SECONDS", 0.2)
    claims = {"scope": "read write", "tenant": "default"}
    token = {"Authorization": f"Bearer {signed(server, **claims)}"}
    async with open_app(jwt_issuer=server.url, jwt_audience=AUDIENCE) as app, served(app) as client:
        event = {"kind": SAY, "payload": {"content": "hi"}}
        made = await client.post("/v1/conversations", json={"event": event}, headers=token)
        path = f"/v1/conversations/{made.json()['id']}"
        async with client.stream("GET", f"{path}/stream", headers=token) as stream:
            assert stream.status_code == 200
            server.keys = [public("two")]
            async with asyncio.timeout(LIMIT):
                async for _ in stream.aiter_lines():
                    pass  # until the server ends it
        assert (await client.get(path, headers=token)).status_code == 401
        assert (await client.post(f"{path}/events", json=event, headers=token)).status_code == 401


async def test_a_token_is_forgotten_when_another_key_is_found_to_be_new(
    server: Server, open_app: Callable[..., App]
) -> None:
    """The keys are young, so they are read for the new key alone; the old one is not in them."""
    settings = {"jwt_issuer": server.url, "jwt_audience": AUDIENCE}
    claims = {"scope": "read", "tenant": "default"}
    async with open_app(**settings) as app:
        await app.access.open()
        first, second = signed(server, **claims), signed(server, kid="two", **claims)
        await app.access.bearer(first)
        server.keys = [public("two")]
        await app.access.bearer(first)  # remembered, for minutes at most
        await app.access.bearer(second)
        with pytest.raises(NotAuthenticated):
            await app.access.bearer(first)
        assert server.reads == 2


@pytest.mark.parametrize(
    "given",
    [
        {"jwt_issuer": "http://issuer.example"},
        {"oidc_issuer": "ftp://issuer.example"},
        {"jwt_algorithms": "HS256"},
        {"jwt_algorithms": "none"},
        {"jwt_algorithms": " "},
        {"trusted_proxies": "everyone"},
    ],
    ids=str,
)
def test_settings_that_would_be_unsafe_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(SetupFailed, match=next(iter(given)).upper()):
        load(**given)
