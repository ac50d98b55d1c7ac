"""`/docs`: the OpenAPI document as a page for people. No scripts, nothing from other sites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request, Response

from foja.web.pages import Language, render_page
from foja.web.translations import TRANSLATIONS

Schema = Mapping[str, Any]
Texts = Mapping[str, str]
routes = APIRouter(include_in_schema=False)


@routes.get("/docs")
async def reference(request: Request, language: Language) -> Response:
    """Show every address with its parameters, bodies and answers."""
    document, texts = request.app.openapi(), TRANSLATIONS[language]
    operations = "".join(
        _operation(method.upper(), path, each, document, texts)
        for path, methods in document["paths"].items()
        for method, each in methods.items()
    )
    return render_page(
        "docs.html", lang=language, title=texts["reference"], intro=texts["intro"], items=operations
    )


def _operation(method: str, path: str, operation: Schema, document: Schema, texts: Texts) -> str:
    parts = "".join(
        f"<h3>{escape(title)}</h3>{content}"
        for title, content in _parts(operation, document, texts)
        if content
    )
    about = _text(operation.get("description", ""))
    head = f"<summary><b>{method}</b> <code>{escape(path)}</code> <span>{about}</span></summary>"
    return f"<details>{head}{parts}</details>"


def _parts(operation: Schema, document: Schema, texts: Texts) -> Iterator[tuple[str, str]]:
    """Yield the titles and tables of an operation: parameters, body, each answer."""
    parameters = [
        (each["name"], each["schema"], each["required"], each.get("description", each["in"]))
        for each in operation.get("parameters", [])
    ]
    yield texts["parameters"], _table(parameters, texts)
    for schema in _schemas(operation.get("requestBody", {})):
        yield texts["body"], _object(schema, document, texts)
    for status, answer in operation["responses"].items():
        content = "".join(_object(schema, document, texts) for schema in _schemas(answer))
        kinds = ", ".join(answer.get("content", {}))
        yield f"{status} {kinds}", f"<p>{_text(answer['description'])}</p>{content}"


def _schemas(holder: Schema) -> list[Schema]:
    return [each["schema"] for each in holder.get("content", {}).values() if "schema" in each]


def _object(schema: Schema, document: Schema, texts: Texts) -> str:
    """Return the fields of an object as a table, or the type of anything else."""
    found = _resolve(schema, document)
    fields = found.get("properties", {})
    required = found.get("required", [])
    rows = [(name, each, name in required, each.get("description", "")) for name, each in fields.items()]
    name = f"<p><code>{escape(_type(schema))}</code></p>"
    return name + _table(rows, texts)


def _resolve(schema: Schema, document: Schema) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def _table(rows: list[tuple[str, Schema, bool, str]], texts: Texts) -> str:
    lines = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td><code>{escape(_type(schema))}</code></td>"
        f"<td>{texts['required'] if required else ''}</td><td>{_text(about)}</td></tr>"
        for name, schema, required, about in rows
    )
    return f"<table>{lines}</table>" if lines else ""


def _text(text: str) -> str:
    """Return a text with its code marked."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


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
