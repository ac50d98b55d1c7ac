"""Events as they are made of rows."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from uuid import UUID

from foja.engine.ledger.event import Event
from foja.engine.ledger.reader import Position

STREAM, ID, AT = UUID(int=1), UUID(int=2), datetime(2026, 11, 18, tzinfo=UTC)


def test_an_event_of_a_row_has_every_field() -> None:
    row = (7, ID, "thinking", 1, AT, "ana", "api", {"content": "hi"}, b"hash")
    made = Position("epoch").event_from(STREAM)(row)
    expected = Event(STREAM, *row, cursor="epoch:7")
    assert type(made) is Event
    for field in fields(Event):
        assert getattr(made, field.name) == getattr(expected, field.name), field.name
