"""Requests under an Idempotency-Key."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header

from foja.operations.caller import check_key
from foja.requests.model.events import REQUEST
from foja.requests.service import KeyedRequest
from foja.web.caller import Caller

Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="the same key again answers with what the first made"),
]


def keyed(caller: Caller, key: str | None, address: str) -> KeyedRequest:
    """Return a request to an address under its key, for an act that is not one event of a given stream."""
    check_key(key)
    return KeyedRequest(caller.app.ledger.only(REQUEST), caller.principal.actor, address, key)
