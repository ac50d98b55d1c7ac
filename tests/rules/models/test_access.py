"""The pure part of access: the text of a key, the claims of a token, the steps of a login."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.errors import NotAllowed, redact
from foja.pure.models.access.claims import ClaimRules
from foja.pure.models.access.key import key_with_id, make_key, parse_key
from foja.pure.models.access.login import Login, form_token, own_path
from foja.pure.models.access.principal import ALL, Principal, Scope, parse_scopes

RULES = ClaimRules("tenant", "scope", "default")
CLAIMS = {"sub": "7", "tenant": "acme", "scope": "openid foja:read write"}


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_a_key_is_read_as_it_was_written_and_never_shown(random_id: bytes, secret: bytes) -> None:
    key = make_key(random_id, secret)
    assert parse_key(key.text) == key
    assert key.digest == sha256(key.text.encode()).digest()
    assert key.text not in repr(key)
    shown = redact(f"Authorization: Bearer {key.text}, and again '{key.text}'")
    assert key.text.split("_")[2] not in shown
    assert shown.count(f"foja_{key.id}_***") == 2


@given(st.data())
def test_a_mistyped_key_is_noticed_without_the_database(data: st.DataObject) -> None:
    key = key_with_id("a" * 12, b"s" * 32).text
    at = data.draw(st.integers(0, len(key) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda each: each != key[at]))
    assert parse_key(key[:at] + other + key[at + 1 :]) is None
    assert parse_key(key + "\n") is None
    assert parse_key(key[:at]) is None


def test_every_secret_of_a_key_is_different_and_two_ids_too() -> None:
    keys = {make_key(bytes([n]) * 32, bytes([n]) * 32).text for n in range(256)}
    assert len({key.split("_")[1] for key in keys}) == len({key.split("_")[2] for key in keys}) == 256


def test_claims_name_who_it_is_and_what_it_may_do() -> None:
    found = RULES.principal(CLAIMS)
    assert (found.tenant, found.actor, found.person) == ("acme", "user:7", True)
    assert (set(found.scopes), found.installation) == ({Scope.READ, Scope.WRITE}, False)
    address = {"email": "ana@example.org", "email_verified": True}
    assert RULES.principal({**CLAIMS, **address}).actor == "user:ana@example.org"
    assert RULES.principal({**CLAIMS, **address, "email_verified": False}).actor == "user:7"
    assert RULES.principal({**CLAIMS, "name": " Ana\0\u202e\nRuiz"}).name == "AnaRuiz"
    assert RULES.principal({**CLAIMS, "name": 7, "preferred_username": "ana"}).name == "ana"
    assert RULES.principal({**CLAIMS, "name": "\n"}).name is None
    wide = RULES.principal({**CLAIMS, "scope": ["admin", "installation", 7]})
    assert (set(wide.scopes), wide.installation) == ({Scope.ADMIN}, True)
    assert ClaimRules("", "scope", "own").principal(CLAIMS).tenant == "own"
    assert ClaimRules("", "x", "own", frozenset({Scope.READ})).principal({"sub": "7"}).scopes == {Scope.READ}


@pytest.mark.parametrize("scope", [None, "", "openid", [], ["root"], 7, {"read": True}])
def test_claims_without_a_scope_give_nothing(scope: Any) -> None:
    with pytest.raises(NotAllowed, match="scope"):
        RULES.principal({**CLAIMS, "scope": scope})


@pytest.mark.parametrize("tenant", [None, "", "system", 7, ["acme"], "x" * 256, "a\nb", "a\u202eb"])
def test_claims_without_a_tenant_give_nothing(tenant: Any) -> None:
    with pytest.raises(NotAllowed, match="tenant"):
        RULES.principal({**CLAIMS, "tenant": tenant})


def test_the_steps_of_a_login_follow_from_one_secret_and_do_not_show_it() -> None:
    login, other = Login("s" * 43), Login("t" * 43)
    values = [login.state, login.nonce, login.verifier, form_token(login.secret)]
    assert len({*values, other.state, other.nonce, other.verifier, login.secret}) == 8
    question = parse_qs(login.question("foja", "https://foja.example/login/callback"))
    digest = sha256(login.verifier.encode()).digest()
    assert question["code_challenge"] == [urlsafe_b64encode(digest).rstrip(b"=").decode()]
    assert login.verifier not in str(question)
    assert 43 <= len(login.verifier) <= 128  # RFC 7636, 4.1


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/conversations?lang=es", True),
        ("/", True),
        (None, False),
        ("", False),
        ("//evil.example", False),
        ("/\\evil.example", False),
        ("/a\r\nSet-Cookie: x=1", False),
        ("https://evil.example", False),
        ("/a\\b", False),
    ],
)
def test_a_login_continues_at_a_path_of_this_server_only(path: str | None, kept: bool) -> None:
    assert own_path(path) == (path if kept else "/")


def test_a_person_signs_with_its_own_name_and_a_program_for_others() -> None:
    person = Principal("t", "user:ana", frozenset({Scope.WRITE}), person=True)
    program = Principal("t", "key:1", frozenset({Scope.WRITE}))
    assert person.author(None) == person.author("user:ana") == "user:ana"
    assert (program.author(None), program.author("eva")) == ("key:1", "eva")
    assert Principal("t", "local:ana", ALL).author(None) == "local:ana"
    for who, named in ((person, "user:eva"), (program, "key:2"), (program, "local:ana")):
        with pytest.raises(NotAllowed, match="cannot write as"):
            who.author(named)


def test_admin_includes_the_others_and_the_installation_is_apart() -> None:
    admin = Principal("t", "key:1", frozenset({Scope.ADMIN}))
    for scope in Scope:
        admin.check(scope)
        with pytest.raises(NotAllowed, match="all tenants"):
            admin.check(scope, installation=True)
    reader = Principal("t", "key:2", frozenset({Scope.READ}), installation=True)
    reader.check(Scope.READ, installation=True)
    for scope in set(Scope) - {Scope.READ}:
        with pytest.raises(NotAllowed, match=scope):
            reader.check(scope)
    with pytest.raises(NotAllowed, match="'root'"):
        parse_scopes(["read", "root"])
