"""`/docs`: the OpenAPI document as a page for people. No scripts, nothing from other sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from foja.web.pages.frame.errors import page_router
from foja.web.pages.frame.language import Texts
from foja.web.pages.frame.rendering import Requested, mark_code
from foja.web.pages.frame.visitor import Visitor
from foja.web.pages.texts.reference import TEXTS

Schema = Mapping[str, Any]
routes = page_router()


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of an object."""

    name: str
    type: str
    required: bool
    about: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an operation: its parameters, a body, an answer."""

    title: str
    about: str = ""
    type: str = ""
    fields: Sequence[Field] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address."""

    method: str
    path: str
    about: str
    parts: Sequence[Part]


@routes.get("/docs")
async def reference(request: Request, page: Requested, visitor: Visitor) -> Response:
    """Show every address with its parameters, bodies and answers."""
    document, texts = request.app.openapi(), page.texts(TEXTS)
    operations = [
        Operation(
            method.upper(), path, mark_code(each.get("description", "")), [*_parts(each, document, texts)]
        )
        for path, methods in document["paths"].items()
        for method, each in methods.items()
    ]
    return page.render("reference.html", TEXTS, principal=visitor, operations=operations)


def _parts(operation: Schema, document: Schema, texts: Texts) -> Iterator[Part]:
    """Yield the parts of an operation: parameters, body, each answer."""
    parameters = [
        Field(
            each["name"],
            _type(each["schema"]),
            each["required"],
            mark_code(each.get("description", each["in"])),
        )
        for each in operation.get("parameters", [])
    ]
    if parameters:
        yield Part(texts("parameters"), fields=parameters)
    for schema in _schemas(operation.get("requestBody", {})):
        yield Part(texts("body"), type=_type(schema), fields=_fields(schema, document))
    for status, answer in operation["responses"].items():
        title, about = f"{status} {', '.join(answer.get('content', {}))}", mark_code(answer["description"])
        schemas = _schemas(answer)
        yield Part(title, about, *((_type(schemas[0]), _fields(schemas[0], document)) if schemas else ()))


def _schemas(holder: Schema) -> list[Schema]:
    return [each["schema"] for each in holder.get("content", {}).values() if "schema" in each]


def _fields(schema: Schema, document: Schema) -> list[Field]:
    """Return the fields of an object; none for anything else."""
    found = _resolve(schema, document)
    required = found.get("required", [])
    return [
        Field(name, _type(each), name in required, mark_code(each.get("description", "")))
        for name, each in found.get("properties", {}).items()
    ]


def _resolve(schema: Schema, document: Schema) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def _type(schema: Schema) -> str:
    """Return the type of a value in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(map(_type, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " | ".join(map(repr, schema.get("enum", [schema.get("const")])))
    if schema.get("type") == "array":
        return f"[{_type(schema.get('items', {}))}]"
    return str(schema.get("type", "any"))
