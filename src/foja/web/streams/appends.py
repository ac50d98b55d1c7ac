"""Requests under an Idempotency-Key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Header

from foja.errors import IdempotencyConflict
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


def refuse_second(what: str, found: Sequence[str] | None) -> None:
    """Raise `IdempotencyConflict` if a request made something whose secret was in its only answer."""
    if found:
        raise IdempotencyConflict(
            f"the {what} {found[0]} was made under this Idempotency-Key, and its secret is shown once; "
            "rotate it if the answer was lost"
        )
