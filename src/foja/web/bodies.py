"""What may be sent, read within limits. Numbers, keys and text are taken exactly or refused."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from foja.core.canonical import parse
from foja.errors import BadPayload, TooLarge
from foja.ledger.event import MAX_BODY
from foja.web.problems import Rejected, told

# A canonical body may arrive with its characters escaped.
MAX_REQUEST_BYTES = 4 * MAX_BODY
THROWN_AWAY = 64 * MAX_BODY
READ_TIMEOUT_SECONDS = 30.0
JSON = "application/json"


class RequestBody(BaseModel):
    """One JSON object, nothing converted, nothing ignored."""

    model_config = ConfigDict(strict=True, extra="forbid")


class NewEvent(RequestBody):
    """An event to be written."""

    kind: str
    payload: dict[str, Any]
    actor: str | None = None
    v: int = 1


class NextEvent(NewEvent):
    """An event to be written at the head, if that is the number expected."""

    expected_seq: int | None = None


class NewConversation(RequestBody):
    """A conversation to be opened: an id of your own, a first event, both or none."""

    id: str | None = None
    event: NewEvent | None = None


class Reservation(RequestBody):
    """Numbers to be kept for events that do not exist yet."""

    count: int
    ttl: float = 30
    intents: list[Any] | None = None


class Extension(RequestBody):
    """More time for the numbers still open."""

    ttl: float


class Voiding(RequestBody):
    """Why a number is given back."""

    reason: str


class ApprovalRequest(RequestBody):
    """Something somebody is asked to allow."""

    tool_name: str
    tool_args: dict[str, Any]
    ttl: float = 300
    approval_id: str | None = None
    tool_use_id: str | None = None
    turn: str | int | None = None
    block_index: int | None = None
    actor: str | None = None


class DecisionBody(RequestBody):
    """What somebody decides: `approved` or `denied`."""

    decision: str
    reason: str | None = None
    actor: str | None = None


class Chunk(RequestBody):
    """Something to be shown now and kept nowhere."""

    kind: str
    payload: dict[str, Any]
    turn: str | int | None = None
    block_index: int | None = None
    event_index: Annotated[int, Field(ge=0)] | None = None


Model = TypeVar("Model", bound=BaseModel)


def body_of(model: type[Model]) -> Any:
    """Return the dependency that reads a body as `model`."""

    async def read(request: Request) -> Model:
        value = parse(await _bytes(request))
        try:
            return model.model_validate(value)
        except ValidationError as error:
            raise BadPayload(f"{told(error.errors())}; see /openapi.json") from None

    return Depends(read)


def described(model: type[RequestBody]) -> dict[str, Any]:
    """Return what OpenAPI says of a body that is read by `body_of`."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


async def _bytes(request: Request) -> bytes:
    """Read the body, never more of it than may be sent."""
    # Asked for on purpose: a page of another site can send text, but no JSON, without asking first.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Rejected(415, "The body is not JSON.", f"send it with Content-Type: {JSON}")
    try:
        async with asyncio.timeout(READ_TIMEOUT_SECONDS):
            await _refuse_early(request)
            return await _collect(request)
    except TimeoutError:
        raise Rejected(408, "The body did not arrive.", "send it whole, within half a minute") from None


async def _refuse_early(request: Request) -> None:
    """Refuse a body that is announced as too large, unread; a client still sending would miss the answer."""
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) <= MAX_REQUEST_BYTES:
        return
    if int(length) <= THROWN_AWAY:
        async for _ in request.stream():
            pass
    raise _too_large()


async def _collect(request: Request) -> bytes:
    data = bytearray()
    async for piece in request.stream():
        if len(data) + len(piece) > MAX_REQUEST_BYTES:
            raise _too_large()
        data += piece
    return bytes(data)


def _too_large() -> TooLarge:
    return TooLarge(
        f"the body is over {MAX_REQUEST_BYTES:,} bytes; store it as an object and name it instead"
    )
