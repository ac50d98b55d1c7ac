"""Request bodies as JSON: limits and strict validation. Values are accepted exactly or refused."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from foja.engine.ledger.event import MAX_BODY
from foja.errors import BadPayload
from foja.interfaces.web.problems import Rejected, describe_errors
from foja.interfaces.web.transfer.bodies import media_type_of, read_body
from foja.pure.core.canonical import parse

# Escapes can make a canonical body longer.
MAX_REQUEST_BYTES = 4 * MAX_BODY
JSON = "application/json"


Model = TypeVar("Model", bound=BaseModel)


async def parse_body(request: Request, model: type[Model]) -> Model:
    """Return the body of a request as `model`, or raise `BadPayload`."""
    # Required on purpose: without a CORS preflight, a page of another site can send text but not JSON.
    if media_type_of(request) != JSON:
        raise Rejected(415, "The body is not JSON.", f"send it with Content-Type: {JSON}")
    value = parse(
        await read_body(request, MAX_REQUEST_BYTES, "store the content as an object and refer to it")
    )
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise BadPayload(f"{describe_errors(error.errors())}; see /openapi.json") from None
