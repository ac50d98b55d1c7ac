"""What may be said in passing, and in which form it travels."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from foja import errors
from foja.conversations.model.events import CONVERSATION, TRANSIENT, check_transient
from foja.ledger.event import Transient

SAID: dict[str, dict[str, object]] = {
    "thinking_chunk": {"text": "h"},
    "message_chunk": {"text": ""},
    "complete": {"reason": "success", "stop_reason": None},
    "error": {"message": "the model is away"},
    "session_start": {"anything": [1]},
    "session_end": {},
}


def test_the_six_of_the_seed_and_nothing_else_is_transient() -> None:
    assert {kind.name for kind in TRANSIENT.kinds} == set(SAID)
    assert not set(SAID) & {kind.name for kind in CONVERSATION.kinds}


@pytest.mark.parametrize("kind", SAID)
def test_each_may_be_said_with_and_without_a_place(kind: str) -> None:
    assert check_transient(kind, SAID[kind]).name == kind
    check_transient(kind, SAID[kind], turn="t1", block_index=0, event_index=0)
    check_transient(kind, SAID[kind], turn=7, event_index=12)


@pytest.mark.parametrize(
    ("kind", "payload", "place", "refusal"),
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
def test_what_is_wrong_is_refused(kind: str, payload: Any, place: Any, refusal: type[errors.Refused]) -> None:
    with pytest.raises(refusal):
        check_transient(kind, payload, **place)


def test_the_wire_form_has_no_number_and_all_of_the_place() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    said = Transient(UUID(int=1), UUID(int=2), "message_chunk", at, "t1", 0, 3, {"text": "h"})
    assert said.envelope() == {
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
