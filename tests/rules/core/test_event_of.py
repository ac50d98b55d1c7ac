"""`event_of` makes the same event as the constructor, only faster."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from datetime import UTC, datetime
from uuid import UUID

import pytest

from foja.engine.ledger.event import Event, event_of

ROW = (3, UUID(int=1), "thinking", 1, datetime(2026, 1, 1, tzinfo=UTC), "ana", "api", {"content": "x"}, b"h")


def test_it_is_what_the_constructor_makes() -> None:
    made, quick = Event(UUID(int=2), *ROW, "e:3"), event_of(UUID(int=2), *ROW, "e:3")
    assert quick == made
    assert [getattr(quick, each.name) for each in fields(Event)] == [
        getattr(made, each.name) for each in fields(Event)
    ]


def test_it_is_as_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        event_of(UUID(int=2), *ROW).seq = 4  # type: ignore[misc]
