"""Requests under an Idempotency-Key."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header

from foja.domains.requests.service import KeyedRequest
from foja.interfaces.operations.caller import check_key
from foja.interfaces.web.caller import Caller
from foja.pure.models.requests.events import REQUEST

Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="the same key again answers with what the first made"),
]


def keyed(caller: Caller, key: str | None, address: str) -> KeyedRequest:
    """Return a request to an address under its key, for an act that is not one event of a given stream."""
    check_key(key)
    return KeyedRequest(caller.app.ledger.only(REQUEST), caller.principal.actor, address, key)
