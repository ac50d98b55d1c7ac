"""Request bodies: limits and strict validation. Values are accepted exactly or refused."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, ValidationError

from foja.engine.ledger.event import MAX_BODY
from foja.errors import BadPayload, TooLarge
from foja.interfaces.web.problems import Rejected, describe_errors
from foja.pure.core.canonical import parse

# Escapes can make a canonical body longer.
MAX_REQUEST_BYTES = 4 * MAX_BODY
JSON = "application/json"


class RequestBody(BaseModel):
    """One JSON object. No value is converted and no field is ignored."""

    model_config = ConfigDict(strict=True, extra="forbid")


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
