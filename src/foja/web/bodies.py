"""Request bodies: limits and strict validation. Values are accepted exactly or refused."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from foja.core.canonical import parse
from foja.errors import BadPayload, TooLarge
from foja.ledger.event import MAX_BODY
from foja.web.problems import Rejected, describe_errors

# Escapes can make a canonical body longer.
MAX_REQUEST_BYTES = 4 * MAX_BODY
JSON = "application/json"


class RequestBody(BaseModel):
    """One JSON object. No value is converted and no field is ignored."""

    model_config = ConfigDict(strict=True, extra="forbid")


class NewEvent(RequestBody):
    """An event to append."""

    kind: str
    payload: dict[str, Any]
    actor: str | None = None
    v: int = 1


class NextEvent(NewEvent):
    """An event to append at the head, with its expected number."""

    expected_seq: int | None = None


class NewConversation(RequestBody):
    """A conversation to open: optionally its id and its first event."""

    id: str | None = None
    event: NewEvent | None = None


class Reservation(RequestBody):
    """Numbers to reserve for later events."""

    count: int
    ttl: float = 30
    intents: list[Any] | None = None


class Extension(RequestBody):
    """A longer deadline for the slots that are still open."""

    ttl: float


class Voiding(RequestBody):
    """The reason for voiding a slot."""

    reason: str


class ApprovalRequest(RequestBody):
    """A tool use that needs an approval."""

    tool_name: str
    tool_args: dict[str, Any]
    ttl: float = 300
    approval_id: str | None = None
    tool_use_id: str | None = None
    policy: str | None = None
    turn: str | int | None = None
    block_index: int | None = None
    actor: str | None = None


class DecisionBody(RequestBody):
    """A decision: `approved` or `denied`."""

    decision: str
    reason: str | None = None
    actor: str | None = None


class Chunk(RequestBody):
    """A transient event: sent to the current followers, never stored."""

    kind: str
    payload: dict[str, Any]
    turn: str | int | None = None
    block_index: int | None = None
    event_index: Annotated[int, Field(ge=0)] | None = None


Model = TypeVar("Model", bound=BaseModel)


def body_of(model: type[Model]) -> Any:
    """Return a dependency that reads the body as `model`."""

    async def read(request: Request) -> Model:
        return await parse_body(request, model)

    return Depends(read)


async def parse_body(request: Request, model: type[Model]) -> Model:
    """Return the body of a request as `model`, or raise `BadPayload`."""
    value = parse(await _read_bytes(request))
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise BadPayload(f"{describe_errors(error.errors())}; see /openapi.json") from None


def describe_body(model: type[RequestBody]) -> dict[str, Any]:
    """Return the OpenAPI description of a body that `body_of` reads; `openapi.describe` adds the schema."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


async def _read_bytes(request: Request) -> bytes:
    """Return the body. Raise `TooLarge` if it exceeds the limit; the connection discards the rest."""
    # Required on purpose: without a CORS preflight, a page of another site can send text but not JSON.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Rejected(415, "The body is not JSON.", f"send it with Content-Type: {JSON}")
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > MAX_REQUEST_BYTES:
        raise _too_large()
    data = bytearray()
    async for piece in request.stream():
        if len(data) + len(piece) > MAX_REQUEST_BYTES:
            raise _too_large()
        data += piece
    return bytes(data)


def _too_large() -> TooLarge:
    return TooLarge(
        f"the body is over {MAX_REQUEST_BYTES:,} bytes; store the content as an object and refer to it"
    )
