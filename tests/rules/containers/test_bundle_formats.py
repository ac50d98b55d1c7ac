"""The formats in a bundle: its manifest, its history, the transcript of a conversation."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.errors import BadBundle
from foja.pure.core.bundle import history, manifest
from foja.pure.core.bundle.manifest import EvidenceFile, Manifest, Signed, StreamHead
from foja.pure.core.canonical import canonical
from foja.pure.core.excerpt import Excerpt
from tests.rules.streams import stream

ENTITY = UUID(int=7)
STREAM = StreamHead("document", ENTITY, 5, b"h" * 32)
PROOF = EvidenceFile("tsa", "evidence/tsa/01.tsr", 3, b"t" * 32)
MANIFEST = Manifest(
    b"w" * 32, "document/a.pdf", STREAM, Signed("log", 9, b"r" * 32), None, ("tsa",), (PROOF,)
)
EVENTS = stream("document", ENTITY, [("document.added", {"name": "año"}), ("x", {"n": 1.5}), ("y", {})])


def code(data: bytes) -> str:
    with pytest.raises(BadBundle) as refused:
        manifest.decode(data)
    return refused.value.code


def test_a_manifest_is_read_back() -> None:
    bare = replace(MANIFEST, document=None, checkpoint=None, source=STREAM, required=(), evidence=())
    for each in (MANIFEST, bare):
        assert manifest.decode(each.encode()) == each


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"extra": 1}, "UNKNOWN_FIELD"),
        ({"schema": "foja/bundle/v2"}, "UNKNOWN_PROFILE"),
        ({"witness_hash": "AB" * 32}, "MALFORMED"),
        ({"witness_hash": None}, "MALFORMED"),
        ({"required_evidence": ["faith"]}, "MALFORMED"),
        ({"required_evidence": "tsa"}, "MALFORMED"),
        ({"ledger": {"domain": "d", "entity_id": "x", "events": 1, "head": "0" * 64}}, "MALFORMED"),
        ({"ledger": {"domain": "d"}}, "UNKNOWN_FIELD"),
        ({"checkpoint": {"origin": "o", "size": -1, "root": "0" * 64}}, "MALFORMED"),
        ({"checkpoint": {"origin": "o", "size": True, "root": "0" * 64}}, "MALFORMED"),
        ({"evidence": [{"kind": "tsa"}]}, "UNKNOWN_FIELD"),
        ({"document": 7}, "MALFORMED"),
    ],
)
def test_a_manifest_is_closed(change: dict[str, Any], reason: str) -> None:
    assert code(canonical({**json.loads(MANIFEST.encode()), **change})) == reason


def test_a_manifest_is_canonical() -> None:
    assert code(MANIFEST.encode() + b"\n") == "NON_CANONICAL"
    assert code(json.dumps(json.loads(MANIFEST.encode())).encode()) == "NON_CANONICAL"
    upper = MANIFEST.encode().replace(str(ENTITY).encode(), str(ENTITY).replace("-", "").encode())
    assert code(upper) == "NON_CANONICAL"


@given(st.binary(max_size=100) | st.text(max_size=100).map(str.encode))
def test_garbage_is_not_a_manifest(data: bytes) -> None:
    assert code(data)


def lines(events: list[Excerpt]) -> list[bytes]:
    return list(history.encode(events))


def read(data: list[bytes], entity_id: UUID = ENTITY) -> list[Excerpt]:
    return list(history.decode("document", entity_id, history.split(data)))


def test_a_history_is_read_back_with_its_chain() -> None:
    assert read(lines(EVENTS)) == EVENTS
    whole = b"".join(lines(EVENTS))
    assert read([whole[at : at + 7] for at in range(0, len(whole), 7)]) == EVENTS


def test_an_erased_body_does_not_break_the_chain() -> None:
    erased = [replace(EVENTS[0], payload=None, actor=None, salt=None), *EVENTS[1:]]
    assert read(lines(erased))[-1].chain_hash == EVENTS[-1].chain_hash


def refusal(data: list[bytes], entity_id: UUID = ENTITY) -> str:
    with pytest.raises(BadBundle) as refused:
        read(data, entity_id)
    return refused.value.code


def test_a_missing_moved_or_foreign_event_is_refused() -> None:
    first, second, third = lines(EVENTS)
    assert refusal([second, third]) == "LEDGER_GAP"
    assert refusal([first, third]) == "LEDGER_GAP"
    assert refusal([first, third, second]) == "LEDGER_GAP"
    assert refusal([first, second, third[:-1]]) == "LEDGER_GAP"
    assert refusal([first, second, third], UUID(int=8)) == "LEDGER_GAP"


def test_a_body_must_fit_its_hash() -> None:
    first, *_ = lines(EVENTS)
    assert refusal([first.replace("año".encode(), b"ano")]) == "LEDGER_BODY"


def test_a_changed_link_leads_to_another_head() -> None:
    first, second, third = lines(EVENTS)
    assert read([first, second, third])[-1].chain_hash == EVENTS[-1].chain_hash
    renamed = read([first, second.replace(b'"kind":"x"', b'"kind":"z"'), third])
    assert renamed[-1].chain_hash != EVENTS[-1].chain_hash


def test_a_line_is_closed_and_canonical() -> None:
    first, *_ = lines(EVENTS)
    document = json.loads(first)
    assert refusal([json.dumps(document).encode() + b"\n"]) == "NON_CANONICAL"
    assert refusal([canonical({**document, "extra": 1}) + b"\n"]) == "UNKNOWN_FIELD"
    assert (
        refusal([canonical({**document, "event": {**document["event"], "x": 1}}) + b"\n"]) == "NON_CANONICAL"
    )
    assert refusal([b"\n"]) == "MALFORMED"


@given(st.lists(st.binary(max_size=60), min_size=1))
def test_garbage_is_not_a_history(data: list[bytes]) -> None:
    if b"".join(data):
        assert refusal(data)


def test_a_transcript_has_payloads_but_no_salts() -> None:
    parsed = [json.loads(line) for line in history.transcript("conversation", ENTITY, EVENTS)]
    assert parsed[0] == {"domain": "conversation", "entity_id": str(ENTITY), "form": "foja/transcript/v1"}
    assert [(each["seq"], each["kind"], each["payload"]) for each in parsed[1:]] == [
        (0, "document.added", {"name": "año"}),
        (1, "x", {"n": 1.5}),
        (2, "y", {}),
    ]
    assert not any("salt" in each for each in parsed)
