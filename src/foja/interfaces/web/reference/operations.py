"""What OpenAPI says of operations: their parameters, bodies and answers, as their functions have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, get_args, get_type_hints

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode
from starlette.responses import Response

from foja.interfaces.answers.problem import Problem
from foja.interfaces.operations.operation import metadata, template_of
from foja.interfaces.web.binding import CREATED, OK, BoundRoute, OperationRoute
from foja.interfaces.web.bodies import JSON
from foja.interfaces.web.caller import KEY
from foja.interfaces.web.operation import TEMPLATE, HttpOperation
from foja.interfaces.web.problems import MEDIA_TYPE
from foja.interfaces.web.reference.answers.events import EventAnswer, TransientAnswer
from foja.pure.pages import Rows

PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": TEMPLATE.format(model="Problem")}}}
ERRORS = {
    "4XX": {"description": "The request was refused.", "content": PROBLEM},
    "5XX": {"description": "The server or its database failed; with 503, try again.", "content": PROBLEM},
}
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


def describe_operations(routes: Sequence[BoundRoute], schemes: Sequence[str]) -> tuple[Json, Json]:
    """Return the paths and the schemas of these operations, each of which needs one of these schemes."""
    found, definitions = TypeAdapter.json_schemas(
        [
            (("", "problem"), "serialization", TypeAdapter(Problem)),
            *(each for route in routes for each in _parts(route)),
        ],
        ref_template=TEMPLATE,
    )
    schemas: Json = definitions.get("$defs", {})
    for name, model in WRITTEN.items():
        if name in schemas:
            schemas[name] = model.model_json_schema(ref_template=TEMPLATE) | {"title": name}
    for kind in {Problem, *(each for route in routes for each in _dataclasses(route.signature.answer))}:
        if kind.__name__ not in WRITTEN:
            _add_words(schemas[kind.__name__], kind)
    needed: list[Json] = [{name: []} for name in schemes]
    paths: Json = {}
    for route in routes:
        parts = {part: schema for ((name, part), _), schema in found.items() if name == route.operation.name}
        operation = _operation(route, parts, schemas)
        anyone = isinstance(route.operation, HttpOperation) and route.operation.anyone
        operation["security"] = [{}, *needed] if anyone else needed
        paths.setdefault(template_of(route.operation), {})[route.operation.method.lower()] = operation
    return paths, schemas


def _parts(route: BoundRoute) -> Iterator[tuple[tuple[str, str], JsonSchemaMode, TypeAdapter[Any]]]:
    """Yield what has a schema: the answer, the body and the parameters of an operation."""
    name = route.operation.name
    if route.signature.answer is not Response:
        yield (name, "answer"), "serialization", TypeAdapter(route.signature.answer)
    for part, model in (("body", _body(route)), ("parameters", route.parameters)):
        if model:
            yield (name, part), "validation", TypeAdapter(model)


def _body(route: BoundRoute) -> type[BaseModel] | None:
    return route.body if isinstance(route, OperationRoute) else None


def _operation(route: BoundRoute, parts: Json, schemas: Json) -> Json:
    operation, signature = route.operation, route.signature
    answer = {"content": {JSON: {"schema": parts["answer"]}}} if "answer" in parts else {}
    answers: Json = {str(operation.status): {"description": "Done.", **answer}}
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
    if "body" in parts:
        required = any(each.required for each in signature.body)
        found["requestBody"] = {"required": required, "content": {JSON: {"schema": parts["body"]}}}
    if isinstance(operation, HttpOperation):
        found["parameters"] += operation.headers
        answers |= {str(status): each for status, each in operation.answers.items()}
        if operation.reads:
            found["requestBody"] = operation.reads
    answers |= ERRORS
    return found


def _parameters(route: BoundRoute, parts: Json, schemas: Json) -> Iterator[Json]:
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
