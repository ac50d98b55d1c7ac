"""`/docs`: the OpenAPI document as a page for people. No scripts, nothing from other sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from foja.interfaces.web.pages.frame.language import Texts
from foja.interfaces.web.pages.frame.page import Page, mark_code
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.interfaces.web.problems import MEDIA_TYPE
from foja.interfaces.web.reference.openapi import document

Schema = Mapping[str, Any]


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
    schema: str = ""  # its name, if it has one
    fields: Sequence[Field] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address."""

    method: str
    path: str
    about: str
    parts: Sequence[Part]


async def reference(page: Page) -> Response:
    """Show every address with its parameters, bodies and answers."""
    found, texts = document(page.request.app), page.texts("reference")
    operations = [
        Operation(method.upper(), path, mark_code(each.get("description", "")), [*_parts(each, texts)])
        for path, methods in found["paths"].items()
        for method, each in methods.items()
    ]
    schemas = {name: _fields(each) for name, each in sorted(found["components"]["schemas"].items())}
    return page.render("reference.html", "reference", operations=operations, schemas=schemas)


def _parts(operation: Schema, texts: Texts) -> Iterator[Part]:
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
        yield _part(texts("body"), "", schema)
    refusals = [
        status for status, each in operation["responses"].items() if MEDIA_TYPE in each.get("content", {})
    ]
    for status, answer in operation["responses"].items():
        if status in refusals:
            continue
        title, about = f"{status} {', '.join(answer.get('content', {}))}", mark_code(answer["description"])
        yield _part(title, about, *_schemas(answer)[:1])
    if refusals:
        yield Part(f"{', '.join(refusals)} {MEDIA_TYPE}", schema="Problem")


def _part(title: str, about: str, schema: Schema | None = None) -> Part:
    """Return a part; an object that has a name is described once, below all operations."""
    if schema is None:
        return Part(title, about)
    return Part(title, about, _type(schema), schema.get("$ref", "").rpartition("/")[2], _fields(schema))


def _schemas(holder: Schema) -> list[Schema]:
    return [each["schema"] for each in holder.get("content", {}).values() if "schema" in each]


def _fields(schema: Schema) -> list[Field]:
    """Return the fields of an object; none for anything else."""
    required = schema.get("required", [])
    return [
        Field(name, _type(each), name in required, mark_code(each.get("description", "")))
        for name, each in schema.get("properties", {}).items()
    ]


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


PAGES = (PageRoute("GET /docs", reference, anyone=True),)
