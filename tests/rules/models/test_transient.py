"""The transient kinds, their checks and their envelope."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from foja import errors
from foja.engine.ledger.event import Transient
from foja.pure.models.conversations.events import CONVERSATION, TRANSIENT, check_transient

PAYLOADS: dict[str, dict[str, object]] = {
    "thinking_chunk": {"text": "h"},
    "message_chunk": {"text": ""},
    "complete": {"reason": "success", "stop_reason": None},
    "error": {"message": "the model is away"},
    "session_start": {"anything": [1]},
    "session_end": {},
}


def test_the_transient_kinds_are_the_six_of_the_seed() -> None:
    assert {kind.name for kind in TRANSIENT.kinds} == set(PAYLOADS)
    assert not set(PAYLOADS) & {kind.name for kind in CONVERSATION.kinds}


@pytest.mark.parametrize("kind", PAYLOADS)
def test_each_kind_is_accepted_with_and_without_a_turn(kind: str) -> None:
    assert check_transient(kind, PAYLOADS[kind]).name == kind
    check_transient(kind, PAYLOADS[kind], turn="t1", block_index=0, event_index=0)
    check_transient(kind, PAYLOADS[kind], turn=7, event_index=12)


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
def test_invalid_transients_are_refused(
    kind: str, payload: Any, place: Any, refusal: type[errors.Refused]
) -> None:
    with pytest.raises(refusal):
        check_transient(kind, payload, **place)


def test_the_envelope_has_no_number_and_every_index() -> None:
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
