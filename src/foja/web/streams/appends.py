"""Requests under an Idempotency-Key, and events as answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header

from foja.ledger.event import Event
from foja.operations.caller import check_key
from foja.requests.model.events import REQUEST
from foja.requests.service import KeyedRequest
from foja.web.caller import Caller
from foja.web.transfer.encoder import JsonAnswer

Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="the same key again answers with what the first made"),
]


def keyed(caller: Caller, key: str | None, address: str) -> KeyedRequest:
    """Return a request to an address under its key, for an act that is not one event of a given stream."""
    check_key(key)
    return KeyedRequest(caller.app.ledger.only(REQUEST), caller.principal.actor, address, key)


def event_answer(event: Event) -> JsonAnswer:
    """Return an event as the answer to the request that appended it."""
    return JsonAnswer(event.envelope(), status_of(event))


def status_of(event: Event) -> int:
    """Return 201 for a new event, 200 for a replayed one."""
    return 200 if event.replayed else 201
