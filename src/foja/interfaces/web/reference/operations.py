"""What OpenAPI says of operations: their parameters, bodies and answers, as their functions have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, get_args, get_type_hints

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from foja.interfaces.operations.operation import metadata, template_of
from foja.interfaces.web.binding import CREATED, KEY, OK, OperationRoute
from foja.interfaces.web.reference.answers.events import EventAnswer, TransientAnswer
from foja.pure.pages import Rows

JSON = "application/json"
TEMPLATE = "#/components/schemas/{model}"
KEY_HEADER = {
    "name": KEY,
    "in": "header",
    "required": False,
    "description": "the same key again answers with what the first made",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
WRITTEN: Mapping[str, type[BaseModel]] = {
    "Event": EventAnswer,
    "Transient": TransientAnswer,
}  # values whose JSON has other fields
Json: TypeAlias = dict[str, Any]


def describe_operations(
    routes: Sequence[OperationRoute], errors: Mapping[int | str, Any]
) -> tuple[Json, Json]:
    """Return the paths and the schemas of these operations."""
    found, definitions = TypeAdapter.json_schemas(
        [each for route in routes for each in _described(route)], ref_template=TEMPLATE
    )
    schemas: Json = definitions.get("$defs", {})
    for name, model in WRITTEN.items():
        if name in schemas:
            schemas[name] = model.model_json_schema(ref_template=TEMPLATE) | {"title": name}
    for kind in {each for route in routes for each in _dataclasses(route.signature.answer)}:
        if kind.__name__ not in WRITTEN:
            _add_words(schemas[kind.__name__], kind)
    paths: Json = {}
    for route in routes:
        parts = {part: schema for (name, part), schema in _by_name(found) if name == route.operation.name}
        operation = _operation(route, parts, schemas)
        operation["responses"] |= {str(status): answer for status, answer in errors.items()}
        paths.setdefault(template_of(route.operation), {})[route.operation.method.lower()] = operation
    return paths, schemas


def _described(route: OperationRoute) -> Iterator[tuple[str, JsonSchemaMode, TypeAdapter[Any]]]:
    """Yield what has a schema: the answer, the body and the parameters of an operation."""
    name = route.operation.name
    yield f"{name} answer", "serialization", TypeAdapter(route.signature.answer)
    for part, model in (("body", route.body), ("parameters", route.parameters)):
        if model:
            yield f"{name} {part}", "validation", TypeAdapter(model)


def _by_name(found: Mapping[tuple[str, JsonSchemaMode], Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    for (key, _), schema in found.items():
        name, _, part = key.partition(" ")
        yield (name, part), schema


def _operation(route: OperationRoute, parts: Json, schemas: Json) -> Json:
    operation, signature = route.operation, route.signature
    answer = {"content": {JSON: {"schema": parts["answer"]}}}
    answers = {str(operation.status): {"description": "Done.", **answer}}
    if operation.new or signature.made:
        answers = {str(CREATED): {"description": "It is new.", **answer}}
        answers[str(OK)] = {"description": "It was made before.", **answer}
    found: Json = {
        "tags": [operation.owner],
        "summary": signature.help.partition("\n")[0],
        "description": signature.help,
        "operationId": operation.name,
        "parameters": [*_parameters(route, parts, schemas), *([KEY_HEADER] if operation.keyed else [])],
        "responses": answers,
    }
    if route.body:
        required = any(each.required for each in signature.body)
        found["requestBody"] = {"required": required, "content": {JSON: {"schema": parts["body"]}}}
    return found


def _parameters(route: OperationRoute, parts: Json, schemas: Json) -> Iterator[Json]:
    if "parameters" not in parts:
        return
    model = schemas.pop(parts["parameters"]["$ref"].rpartition("/")[2])
    for where, parameters in (("path", route.signature.path), ("query", route.signature.query)):
        for each in parameters:
            schema = model["properties"][each.alias]
            words = {"description": each.help} if each.help else {}
            yield {"name": each.alias, "in": where, "required": each.required, **words, "schema": schema}


def _dataclasses(kind: Any) -> Iterator[type]:
    """Yield a dataclass and those of its fields."""
    for inner in get_args(kind):
        yield from _dataclasses(inner)
    if isinstance(kind, type) and is_dataclass(kind):
        yield kind
        for hint in get_type_hints(kind, include_extras=True).values():
            yield from _dataclasses(hint)


def _add_words(schema: Json, kind: type) -> None:
    """Add what a dataclass says of its fields, and how the address of a next page is sent."""
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        words = [said for said in metadata(hints[each.name]) if isinstance(said, str)]
        if words:
            schema["properties"][each.name]["description"] = words[-1]
    if issubclass(kind, Rows) and "next" in hints:
        address = {
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "description": "the address of the next page",
        }
        schema["properties"]["next"] = address
    schema["additionalProperties"] = False
