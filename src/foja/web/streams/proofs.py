"""Proofs that an event is in the log, and the protection of a stream as a document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Path, Response
from pydantic import Field

from foja.documents.document import Document
from foja.ledger.event import MAX_SEQ
from foja.ledger.excerpts import EventProof
from foja.operations.requests import added
from foja.web.bodies import RequestBody
from foja.web.caller import Caller
from foja.web.streams.appends import keyed
from foja.web.transfer.encoder import JsonAnswer

Seq = Annotated[int, Path(ge=0, lt=MAX_SEQ, description="the number of an event")]


class ProtectionRequest(RequestBody):
    """The evidence that is requested."""

    required_evidence: list[str] = Field(default_factory=lambda: ["tsa"], examples=[["tsa"]])


def describe_proof(proven: EventProof, key: str) -> dict[str, Any]:
    """Return an event and its proof as texts, with the public key of the log."""
    return {
        "proof": proven.proof_text(),
        "event": proven.event_text(),
        "arguments": proven.arguments_text(),
        "index": proven.index,
        "size": proven.size,
        "key": key,
    }


async def protect_once(
    caller: Caller,
    key: str | None,
    address: str,
    body: ProtectionRequest,
    protect: Callable[..., Awaitable[Document]],
) -> Response:
    """Answer with the document that `protect` makes of a stream, or with that of the same key before."""
    request, asked = keyed(caller, key, address), dict(body)
    if found := await request.found(asked):
        return JsonAnswer(added(await caller.app.documents.open(found[0])), 200)
    document = await protect(body.required_evidence, actor=caller.principal.actor)
    first = await request.note(asked, str(document.id))
    return JsonAnswer(added(document), 200 if first else 201)
