"""HTTP routes that append to a document: protect, record, sign, revoke, archive, retry, erase."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import Response

from foja.documents.model.signatures import SignatureFields
from foja.errors import BadPayload
from foja.ledger.event import Event
from foja.operations.caller import check_key
from foja.web.bodies import RequestBody, body_of, describe_body
from foja.web.caller import Caller, Retrier, Writer
from foja.web.documents.address import RetriedDocument, WrittenDocument
from foja.web.documents.bodies import (
    DocumentProtection,
    LifecycleEvent,
    ReasonBody,
    RetryBody,
    SignatureBody,
)
from foja.web.reference.answers.documents import ErasureAnswer
from foja.web.reference.openapi import event_route
from foja.web.routers import api_router
from foja.web.streams.appends import Key, event_answer, keyed
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/documents/{document_id}", "documents")
PEM = "-----BEGIN "


@routes.post("/protect", **event_route(DocumentProtection))
async def protect(
    caller: Writer,
    document: WrittenDocument,
    body: Annotated[DocumentProtection, body_of(DocumentProtection)],
    key: Key = None,
) -> Response:
    """Request evidence of the document as it is now. An equal request returns the first one."""
    act = partial(caller.app.documents.protect, document, actor=caller.principal.actor, **dict(body))
    return await _once(caller, key, document, "protect", body, act)


@routes.post("/events", **event_route(LifecycleEvent))
async def record(
    caller: Writer,
    document: WrittenDocument,
    body: Annotated[LifecycleEvent, body_of(LifecycleEvent)],
    key: Key = None,
) -> Response:
    """Append an event of the document's lifecycle, such as `document.witness.ready`."""
    check_key(key)
    return event_answer(
        await caller.app.documents.record(
            document, body.kind, body.payload, actor=caller.principal.actor, idempotency_key=key
        )
    )


@routes.post("/signatures", **event_route(SignatureBody))
async def sign(
    caller: Writer,
    document: WrittenDocument,
    body: Annotated[SignatureBody, body_of(SignatureBody)],
    key: Key = None,
) -> Response:
    """Check a signature over the document as it is now, and record it; the same one is recorded once."""
    fields: SignatureFields = {"format": body.format, "signer": body.signer, "reason": body.reason}
    fields["key"], fields["certificate"] = _bytes("key", body.key), _bytes("certificate", body.certificate)
    signature = _bytes("signature", body.signature)
    who: dict[str, Any] = {"actor": caller.principal.actor, "idempotency_key": key}
    sign = caller.app.documents.sign
    act = partial(sign, document, signature, witness_hash=body.witness_hash, **who, **fields)
    return await _once(caller, key, document, "signatures", body, act)


@routes.post("/revoke", **event_route(ReasonBody))
async def revoke(
    caller: Writer,
    document: WrittenDocument,
    body: Annotated[ReasonBody, body_of(ReasonBody)],
    key: Key = None,
) -> Response:
    """Revoke the document. Its proofs stay valid; no further evidence is requested."""
    check_key(key)
    revoke = caller.app.documents.revoke
    return event_answer(
        await revoke(document, reason=body.reason, actor=caller.principal.actor, idempotency_key=key)
    )


@routes.post("/archive", **event_route(ReasonBody))
async def archive(
    caller: Writer,
    document: WrittenDocument,
    body: Annotated[ReasonBody, body_of(ReasonBody)],
    key: Key = None,
) -> Response:
    """Archive the document. No further evidence is requested, and only workers may append events."""
    check_key(key)
    archive = caller.app.documents.archive
    return event_answer(
        await archive(document, reason=body.reason, actor=caller.principal.actor, idempotency_key=key)
    )


@routes.post("/retry", **event_route(RetryBody))
async def retry(
    caller: Retrier,
    document: RetriedDocument,
    body: Annotated[RetryBody, body_of(RetryBody)],
    key: Key = None,
) -> Response:
    """Grant new attempts for an evidence that was given up."""
    check_key(key)
    retry = caller.app.documents.retry
    return event_answer(
        await retry(document, actor=caller.principal.actor, idempotency_key=key, **dict(body))
    )


@routes.post("/erase", response_model=ErasureAnswer, openapi_extra=describe_body(ReasonBody))
async def erase(
    caller: Writer, document: WrittenDocument, body: Annotated[ReasonBody, body_of(ReasonBody)]
) -> Response:
    """Erase name, digest and predecessor from the document; the answer says what stays, and why."""
    found = await caller.app.documents.erase(document, reason=body.reason, actor=caller.principal.actor)
    return JsonAnswer({"stays": list(found.stays)})


async def _once(
    caller: Caller,
    key: str | None,
    document: UUID,
    act: str,
    body: RequestBody,
    append: Callable[[], Awaitable[Event]],
) -> Response:
    """Answer with the event that an act appends, or with that of the same key before."""
    request, asked = keyed(caller, key, f"/v1/documents/{document}/{act}"), body.model_dump()
    if found := await request.found(asked):
        events = await (await caller.app.documents.open(document)).events(after=int(found[0]) - 1, limit=1)
        return event_answer(replace(events[0], replayed=True))
    event = await append()
    await request.note(asked, str(event.seq))
    return event_answer(event)


def _bytes(name: str, text: str | None) -> bytes | None:
    """Return the bytes of a field: PEM as it is, anything else from Base64."""
    if text is None or text.lstrip().startswith(PEM):
        return None if text is None else text.encode()
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise BadPayload(f"{name} is not Base64 or PEM; encode the bytes as Base64") from None
