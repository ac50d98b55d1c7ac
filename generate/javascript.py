"""The plain methods of the JavaScript client and their types, from the tables of operations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from datetime import datetime
from itertools import groupby
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from foja.operations import OPERATIONS
from foja.operations.operation import Operation, Parameter, signature_of, template_of
from foja.pages import Rows, row_field
from generate.source import NOTE, javascript_name

BEGIN, END = f"// {NOTE} Begin.", "// End of what `make generate` writes."
NAMES = {bool: "boolean", int: "number", float: "number", str: "string", UUID: "string", datetime: "string"}


def replace_part(text: str, part: str) -> str:
    """Return a file with its generated part replaced."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{part}\n{END}{rest.partition(END)[2]}"


def methods() -> str:
    """Return the classes of services."""
    return "".join(
        f"class {service.title()} {{\n  constructor(transport) {{\n    this._transport = transport;\n  }}\n"
        + "".join(map(_method, operations))
        + "}\n"
        for service, operations in _services()
    )


def types() -> str:
    """Return the declarations of what services return and take."""
    found = {kind: None for each in OPERATIONS if each.client for kind in _objects(signature_of(each).answer)}
    interfaces = "".join(map(_interface, found))
    services = "".join(
        f"export interface {service.title()} {{\n" + "".join(map(_declared, operations)) + "}\n"
        for service, operations in _services()
    )
    return f"{interfaces}\n{services}"


def _services() -> Iterator[tuple[str, Iterator[Operation]]]:
    yield from groupby([each for each in OPERATIONS if each.client], lambda each: each.owner)


def _method(operation: Operation) -> str:
    signature = signature_of(operation)
    path = re.sub(
        r"{(\w+)}", lambda found: f"${{segment({javascript_name(found[1])})}}", template_of(operation)
    )
    parts = []
    for name, parameters in (("params", signature.query), ("json", signature.body)):
        if parameters:
            parts.append(f"{name}: {{ {', '.join(map(_sent, parameters))} }}")
    if operation.keyed:
        parts.append('headers: { "idempotency-key": idempotencyKey ?? newId() }')
    more = f", {{ {', '.join(parts)} }}" if parts else ""
    address = f"`{path}`" if signature.path else f'"{path}"'
    asked = f'this._transport.ask("{operation.method}", {address}{more})'
    rows = _rows(signature.answer)
    answer = f"return (await {asked}).{rows};" if rows else f"return {asked};"
    name = javascript_name(operation.name.partition(".")[2])
    head = f"{'async ' if rows else ''}{name}({_taken(operation)})"
    help_text = " ".join(signature.help.partition("\n\n")[0].split())
    return f"\n  /** {help_text} */\n  {head} {{\n    {answer}\n  }}\n"


def _split(operation: Operation) -> tuple[list[Parameter], list[Parameter]]:
    """Return the parameters that have a place, and those that have a name."""
    signature = signature_of(operation)
    every = (*signature.path, *signature.query, *signature.body)
    placed = [each for each in every if each.required]
    return placed, [each for each in every if each not in placed]


def _sent(parameter: Parameter) -> str:
    name = javascript_name(parameter.alias)
    return parameter.alias if name == parameter.alias else f"{parameter.alias}: {name}"


def _taken(operation: Operation) -> str:
    placed, named = _split(operation)
    words = [f"{javascript_name(each.alias)} = {_default(each.default)}" for each in named]
    if operation.keyed:
        words.append("idempotencyKey = null")
    options = [f"{{ {', '.join(words)} }} = {{}}"] if words else []
    return ", ".join([*(javascript_name(each.alias) for each in placed), *options])


def _default(value: Any) -> str:
    return json.dumps(value)


def _declared(operation: Operation) -> str:
    placed, named = _split(operation)
    words = [f"{javascript_name(each.alias)}: {_type(each.type)}" for each in placed]
    options = [f"{javascript_name(each.alias)}?: {_type(each.type)}" for each in named]
    if operation.keyed:
        options.append("idempotencyKey?: string | null")
    if options:
        words.append(f"options?: {{ {'; '.join(options)} }}")
    answer = signature_of(operation).answer
    rows = _rows(answer)
    found = f"{_row_type(answer)}[]" if rows else _type(answer)
    name = javascript_name(operation.name.partition(".")[2])
    return f"  {name}({', '.join(words)}): Promise<{found}>;\n"


def _rows(answer: Any) -> str | None:
    """Return the name of the field that has the rows of a page."""
    return row_field(answer) if isinstance(answer, type) and issubclass(answer, Rows) else None


def _row_type(answer: type) -> str:
    [row] = get_args(get_type_hints(answer)[row_field(answer)])
    return _type(row)


def _objects(kind: Any) -> Iterator[type]:
    """Yield the dataclasses of an answer that a caller gets: of a page, those of its rows."""
    for inner in get_args(kind):
        yield from _objects(inner)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        for hint in [hints[row_field(kind)]] if issubclass(kind, Rows) else hints.values():
            yield from _objects(hint)
        if not issubclass(kind, Rows):
            yield kind


def _interface(kind: type) -> str:
    lines = "".join(f"  {name}: {_type(hint)};\n" for name, hint in get_type_hints(kind).items())
    return f"/** {(kind.__doc__ or '').strip()} */\nexport interface {kind.__name__} {{\n{lines}}}\n"


def _type(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _type(inner[0])
    if hint is NoneType:
        return "null"
    if origin in (Union, UnionType):
        return " | ".join(map(_type, inner))
    if origin is Literal:
        return " | ".join(f'"{each}"' for each in inner)
    if origin is not None:
        return f"{{ [name: string]: {_type(inner[1])} }}" if len(inner) == 2 else f"Array<{_type(inner[0])}>"
    return NAMES.get(hint) or ("any" if hint is Any else hint.__name__)
