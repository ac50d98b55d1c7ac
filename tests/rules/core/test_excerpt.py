"""One event checked offline, from its body to its leaf."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.errors import Tampered
from foja.pure.core.bundle import history
from foja.pure.core.canonical import canonical
from foja.pure.core.chain import genesis, leaf_entry, step
from foja.pure.core.event import body_bytes, body_hash
from foja.pure.core.excerpt import Excerpt, parse_excerpt
from foja.pure.core.serializer import MAX_DEPTH

ENTITY, EVENT = UUID(int=7), UUID(int=8)
SALT = bytes(range(16))
AT = 1_763_253_170_304_761


def make(seq: int = 0, payload: Any = None, actor: str | None = "ana") -> Excerpt:
    payload = {"content": "hi ✓", "n": 1.5} if payload is None else payload
    digest = body_hash(SALT, body_bytes(actor, canonical(payload), "api", 1))
    before = genesis("conversation", ENTITY) if seq == 0 else bytes(32)
    link = step(before, ENTITY, seq, EVENT, "thinking", AT, digest)
    fields = ("conversation", ENTITY, seq, EVENT, "thinking", 1, AT, actor, "api", payload, SALT)
    return Excerpt(*fields, body_hash=digest, previous=before, chain_hash=link)


def test_an_untouched_event_leads_to_its_leaf() -> None:
    for seq in (0, 1, 300):
        excerpt = make(seq)
        assert excerpt.check() == leaf_entry(ENTITY, seq, excerpt.chain_hash)
        assert parse_excerpt(excerpt.text()) == replace(excerpt, domain="" if seq else "conversation")


@given(
    payload=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        st.one_of(st.floats(-1e15, 1e15), st.integers(-(2**53) + 1, 2**53 - 1), st.booleans(), st.none()),
    ),
    actor=st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
)
def test_any_event_survives_being_written_down(payload: dict[str, Any], actor: str | None) -> None:
    excerpt = make(3, payload, actor)
    assert parse_excerpt(excerpt.text()).check() == excerpt.check()


def test_an_erased_event_still_leads_to_its_leaf() -> None:
    erased = replace(make(5), payload=None, actor=None, salt=None)
    assert erased.erased
    assert parse_excerpt(erased.text()).check() == make(5).check()


@pytest.mark.parametrize(
    "change",
    [
        {"payload": {"content": "lie"}},
        {"payload": float("nan")},
        {"payload": None},
        {"actor": "eva"},
        {"source": "sweeper"},
        {"v": 2},
        {"salt": bytes(16)},
        {"salt": b"short"},
        {"salt": None},
        {"seq": 4},
        {"seq": -1},
        {"event_id": UUID(int=9)},
        {"entity_id": UUID(int=9)},
        {"kind": "turn_paused"},
        {"at_us": AT + 1},
        {"body_hash": bytes(32)},
        {"previous": bytes(31)},
        {"chain_hash": bytes(32)},
        {"seq": 0, "chain_hash": step(bytes(32), ENTITY, 0, EVENT, "thinking", AT, make(3).body_hash)},
    ],
    ids=str,
)
def test_a_touched_event_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Tampered):
        replace(make(3), **change).check()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["form"], "foja/excerpt/v2"),
        (["event"], None),
        (["event"], []),
        (["event", "seq"], "3"),
        (["event", "seq"], True),
        (["event", "id"], "zz"),
        (["event", "entity_id"], 5),
        (["event", "correlation_id"], str(EVENT)),
        (["event", "at"], "yesterday"),
        (["event", "at"], "2026-01-01T00:00:00"),
        (["event", "actor"], 5),
        (["event", "kind"], None),
        (["chain_hash"], "xyz"),
        (["salt"], 16),
    ],
)
def test_a_malformed_excerpt_is_refused(path: list[str], value: Any) -> None:
    document = json.loads(make(3).text())
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    with pytest.raises(Tampered, match="not an excerpt"):
        parse_excerpt(canonical(document) + b"\n")


def forged(change: Callable[[dict[str, Any]], object], seq: int = 3) -> bytes:
    document = json.loads(make(seq).text())
    change(document)
    return canonical(document) + b"\n"


def withhold(document: dict[str, Any], **shown: object) -> None:
    document["salt"] = None
    document["event"] |= {"actor": None, "payload": None, "v": None, "_source": None, **shown}


@pytest.mark.parametrize(
    "text",
    [
        forged(lambda document: document["event"].update(signed_by="a notary")),
        forged(lambda document: document.update(signed_by="a notary")),
        forged(lambda document: document.update(domain="document")),
        forged(lambda document: document.update(domain="")),
        forged(lambda document: document.update(domain=None), 0),
        forged(lambda document: withhold(document, v=7)),
        forged(lambda document: withhold(document, _source="a notary")),
        make(3).text().strip(),
        " " + make(3).text(),
        json.dumps(json.loads(make(3).text()), indent=2) + "\n",
        make(3).text().replace("1.5", "1.50"),
        make(3).text().replace(str(EVENT), EVENT.hex),
        make(3).text().replace("+00:00", "Z"),
    ],
)
def test_an_excerpt_has_one_encoding_and_shows_only_what_a_hash_covers(text: str | bytes) -> None:
    """A field that no hash covers, or another spelling, is refused."""
    with pytest.raises(Tampered, match="not an excerpt"):
        parse_excerpt(text)


def test_the_deepest_body_can_be_written_down() -> None:
    """A payload may be nested as deep as the ledger allows, also inside an excerpt and a history."""
    payload: Any = 0
    for _ in range(MAX_DEPTH):
        payload = [payload]
    excerpt = make(0, payload)
    assert parse_excerpt(excerpt.text()) == excerpt
    assert list(history.decode("conversation", ENTITY, history.split(history.encode([excerpt])))) == [excerpt]
    assert b"".join(history.transcript("conversation", ENTITY, [excerpt])).count(b"[") == MAX_DEPTH


def test_no_text_takes_the_place_of_the_payload() -> None:
    """A text that looks like the payload's place is escaped."""
    excerpt = make(0, {"a": 1}, actor='"payload":null,"seq":')
    assert parse_excerpt(excerpt.text()) == excerpt


def test_a_withheld_body_shows_nothing_of_itself() -> None:
    """Without the salt, author, source, version and content are absent."""
    excerpt = parse_excerpt(forged(withhold))
    assert excerpt.check() == make(3).check()
    assert (excerpt.erased, excerpt.actor, excerpt.payload) == (True, None, None)
    assert (excerpt.source, excerpt.v, excerpt.domain) == ("", 0, "")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"form":1,"form":1}', b"\xff"])
def test_text_that_is_not_a_json_object_is_refused(text: str | bytes) -> None:
    with pytest.raises(Tampered, match="not an excerpt"):
        parse_excerpt(text)
