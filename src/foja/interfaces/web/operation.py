"""Operations that HTTP alone has: what they take or answer is a file, a form or a stream of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from foja.interfaces.operations.operation import Operation

Json: TypeAlias = Mapping[str, Any]
TEMPLATE = "#/components/schemas/{model}"
FORM = "multipart/form-data"
BINARY: Json = {"type": "string", "format": "binary"}
# OpenAPI 3.1 has no word for the events of a stream: by convention the schema is that of one event.
STREAMED = {
    "type": "object",
    "properties": {
        "event": {"type": "string"},
        "id": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "retry": {"type": "integer"},
    },
}
EVENT_STREAM: Mapping[int, Json] = {
    200: {
        "description": "Server-sent events, without end.",
        "content": {"text/event-stream": {"schema": STREAMED}},
    }
}


@dataclass(frozen=True, slots=True)
class HttpOperation(Operation):
    """An operation whose function takes the request, and perhaps returns the response."""

    reads: Json | None = field(default=None, hash=False)  # the body in OpenAPI: the function reads it itself
    answers: Mapping[int, Json] = field(default_factory=dict, hash=False)  # in OpenAPI, beside the JSON
    headers: Sequence[Json] = field(default=(), hash=False)  # in OpenAPI: the function reads them itself
    anyone: bool = False  # whether strangers may use it, perhaps as the settings say
    described: bool = True  # whether it is in the OpenAPI document


def file_answer(*media_types: str, ranges: bool = False) -> Mapping[int, Json]:
    """Return the description of an answer that is a file."""
    content = {each: {"schema": BINARY} for each in media_types}
    answers: dict[int, Json] = {200: {"description": "The file.", "content": content}}
    if ranges:
        answers[206] = {"description": "The requested range of the file.", "content": content}
        answers[304] = {"description": "The client has this version."}
    return answers


def describe_body(contents: Json) -> Json:
    """Return the description of a body by its media types."""
    return {"required": True, "content": {kind: {"schema": schema} for kind, schema in contents.items()}}


def describe_upload(*fields: str, json: Json | None = None) -> Json:
    """Return the description of a body: a file as it is, or in a form with fields, or JSON of a schema."""
    properties = {each: {"type": "string"} for each in fields} | {"file": BINARY}
    form = {"type": "object", "required": ["file"], "properties": properties}
    also = {"application/json": json} if json else {}
    return describe_body({**also, "application/octet-stream": BINARY, FORM: form})
