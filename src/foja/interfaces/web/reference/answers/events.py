"""Events, pages of them and proofs."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from foja.interfaces.web.reference.answers.answer import Answer


class EventAnswer(Answer):
    """An event as it is recorded. An open slot has no id, no time and no source."""

    seq: int = Field(ge=0, description="its number in the stream, from 0 on")
    id: str | None
    kind: str
    at: str | None = Field(description="the database's clock; orders nothing")
    v: int
    actor: str | None
    entity_id: str
    correlation_id: str
    source: str | None = Field(alias="_source")
    payload: dict[str, Any] | None = Field(description="null after an erasure")
    cursor: str | None = Field(description="where a reader continues; null above a hole")


class TransientAnswer(Answer):
    """A transient event: sent to the current followers, never stored."""

    seq: None
    id: str
    kind: str
    at: str
    v: int
    entity_id: str
    turn: str | int | None
    block_index: int | None
    event_index: int | None
    payload: dict[str, Any]
    cursor: None


class EventPage(Answer):
    """A page of events and open slots."""

    events: list[EventAnswer]
    cursor: str | None = Field(description="up to here nothing is missing")
    next: str = Field(description="the address of the next page, or of new events")
