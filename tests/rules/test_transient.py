"""Transient events: which are allowed, and their JSON form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from foja import errors
from foja.conversations.model.events import CONVERSATION, TRANSIENT, check_transient
from foja.ledger.event import Transient

PAYLOADS: dict[str, dict[str, object]] = {
    "thinking_chunk": {"text": "h"},
    "message_chunk": {"text": ""},
    "complete": {"reason": "success", "stop_reason": None},
    "error": {"message": "the model is away"},
    "session_start": {"anything": [1]},
    "session_end": {},
}


def test_the_six_of_the_seed_and_nothing_else_is_transient() -> None:
    assert {name for name, _ in TRANSIENT.kinds} == set(PAYLOADS)
    assert not set(PAYLOADS) & {name for name, _ in CONVERSATION.kinds}


@pytest.mark.parametrize("kind", PAYLOADS)
def test_each_is_allowed_with_and_without_a_position(kind: str) -> None:
    assert check_transient(kind, PAYLOADS[kind]).name == kind
    check_transient(kind, PAYLOADS[kind], turn="t1", block_index=0, event_index=0)
    check_transient(kind, PAYLOADS[kind], turn=7, event_index=12)


@pytest.mark.parametrize(
    ("kind", "payload", "position", "refusal"),
    [
        ("thinking", {"content": "h"}, {}, errors.UnknownKind),
        ("slot.voided", {"reason": "r"}, {}, errors.UnknownKind),
        ("message_chunk", {"text": "h"}, {"v": 2}, errors.UnknownKind),
        ("message_chunk", {}, {}, errors.BadPayload),
        ("message_chunk", {"text": 1}, {}, errors.BadPayload),
        ("message_chunk", "h", {}, errors.BadPayload),
        ("complete", {"reason": 1}, {}, errors.BadPayload),
        ("message_chunk", {"text": "\0"}, {}, errors.NotCanonical),
        ("message_chunk", {"text": "h"}, {"turn": True}, errors.BadPayload),
        ("message_chunk", {"text": "h"}, {"turn": 1.5}, errors.BadPayload),
        ("message_chunk", {"text": "h"}, {"turn": "\ud800"}, errors.NotCanonical),
        ("message_chunk", {"text": "h"}, {"block_index": -1}, errors.BadPayload),
        ("message_chunk", {"text": "h"}, {"event_index": True}, errors.BadPayload),
        ("message_chunk", {"text": "h"}, {"event_index": 2**53}, errors.NotCanonical),
    ],
)
def test_an_invalid_transient_is_refused(
    kind: str, payload: Any, position: Any, refusal: type[errors.Refused]
) -> None:
    with pytest.raises(refusal):
        check_transient(kind, payload, **position)


def test_the_json_form_has_no_number_and_the_whole_position() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    transient = Transient(UUID(int=1), UUID(int=2), "message_chunk", at, "t1", 0, 3, {"text": "h"})
    assert transient.envelope() == {
        "seq": None,
        "id": str(UUID(int=2)),
        "kind": "message_chunk",
        "at": "2026-01-02T00:00:00+00:00",
        "v": 1,
        "entity_id": str(UUID(int=1)),
        "turn": "t1",
        "block_index": 0,
        "event_index": 3,
        "payload": {"text": "h"},
        "cursor": None,
    }
