"""The OpenAPI document: bodies by reference, and every error as a problem document."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from foja.interfaces.web.binding import OperationRoute
from foja.interfaces.web.bodies import RequestBody
from foja.interfaces.web.problems import MEDIA_TYPE
from foja.interfaces.web.reference.answers.answer import Problem
from foja.interfaces.web.reference.operations import describe_operations

TEMPLATE = "#/components/schemas/{model}"
FORM = "multipart/form-data"
BINARY = {"type": "string", "format": "binary"}
PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": TEMPLATE.format(model="Problem")}}}
# For every route. FastAPI adds its own description of errors only where none is given.
ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request was refused.", "content": PROBLEM},
    "5XX": {"description": "The server or its database failed; with 503, try again.", "content": PROBLEM},
}
SCHEMES = {
    "key": {"type": "http", "scheme": "bearer", "description": "An access key, or a token of the issuer."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-foja-session",
        "description": "The session of a login; over plain HTTP the cookie is named `foja-session`.",
    },
}
NEEDED: list[dict[str, list[str]]] = [{name: []} for name in SCHEMES]  # one of them
# For the options of a route that strangers may use.
ANYONE: dict[str, Any] = {"security": [{}, *NEEDED]}
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
EVENT_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events, without end.",
        "content": {"text/event-stream": {"schema": STREAMED}},
    }
}


def again(model: type) -> dict[int | str, dict[str, Any]]:
    """Return the description of an answer to a request that was made before."""
    return {200: {"description": "It was made before.", "model": model}}


def file_answer(*media_types: str, ranges: bool = False) -> dict[int | str, dict[str, Any]]:
    """Return the description of an answer that is a file."""
    content = {each: {"schema": BINARY} for each in media_types}
    answers: dict[int | str, dict[str, Any]] = {200: {"description": "The file.", "content": content}}
    if ranges:
        answers[206] = {"description": "The requested range of the file.", "content": content}
        answers[304] = {"description": "The client has this version."}
    return answers


def describe_upload(model: type[BaseModel] | None, *fields: str) -> dict[str, Any]:
    """Return the description of a body: a file as it is, or in a form with fields, or `model` as JSON."""
    properties = {each: {"type": "string"} for each in fields} | {"file": BINARY}
    form = {"type": "object", "required": ["file"], "properties": properties}
    content: dict[str, Any] = {"application/octet-stream": {"schema": BINARY}, FORM: {"schema": form}}
    if model:
        content = {"application/json": {"schema": {"$ref": TEMPLATE.format(model=model.__name__)}}} | content
    return {"requestBody": {"required": True, "content": content}}


def describe(web: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an application."""
    document: dict[str, Any] = get_openapi(
        title=web.title, version=web.version, summary=web.summary, routes=web.routes
    )
    models: list[type[BaseModel]] = [Problem, *_subclasses(RequestBody)]
    _, found = models_json_schema([(model, "validation") for model in models], ref_template=TEMPLATE)
    components = document.setdefault("components", {})
    components["securitySchemes"] = SCHEMES
    schemas = components.setdefault("schemas", {})
    routes = [each for each in web.routes if isinstance(each, OperationRoute)]
    paths, operations = describe_operations(routes, ERRORS)
    schemas.update(found["$defs"] | operations)
    for path, methods in paths.items():
        document["paths"].setdefault(path, {}).update(methods)
    for methods in document["paths"].values():
        for each in methods.values():
            each.setdefault("security", NEEDED)
    return document


def _subclasses(model: type[BaseModel]) -> list[type[BaseModel]]:
    return [each for child in model.__subclasses__() for each in (child, *_subclasses(child))]
