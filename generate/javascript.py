"""The plain methods of the JavaScript client and their types, from the tables of operations."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from itertools import groupby
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from foja.engine.ledger.event import Event, Transient
from foja.interfaces.operations import OPERATIONS
from foja.interfaces.operations.operation import Operation, Parameter, signature_of, template_of
from foja.pure.pages import Rows, row_field
from generate.source import NOTE, javascript_name

BEGIN, END = f"// {NOTE} Begin.", "// End of what `make generate` writes."
NAMES: dict[Any, str] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    UUID: "string",
    datetime: "string",
    date: "string",
    Decimal: "string",
}
NAMES |= {Event: "Event", Transient: "Transient"}  # declared by hand


def methods() -> str:
    """Return the classes of services, and of single things."""
    return "\n".join(_class(owner, list(operations)) for owner, operations in _owners())


def types() -> str:
    """Return the declarations of what acts return and take."""
    signatures = [signature_of(each) for each in OPERATIONS if each.client]
    answers = {kind: None for each in signatures for kind in _objects(each.answer)}
    bodies = {kind: None for each in signatures for given in each.body for kind in _objects(given.type)}
    interfaces = "".join(_interface(kind, given=False) for kind in answers if kind not in NAMES)
    interfaces += "".join(_interface(kind, given=True) for kind in bodies if kind not in answers)
    return interfaces + "\n" + "\n".join(_declaration(owner, list(each)) for owner, each in _owners())


def _owners() -> Iterator[tuple[str, Iterator[Operation]]]:
    yield from groupby([each for each in OPERATIONS if each.client], lambda each: each.owner)


def _class(owner: str, operations: list[Operation]) -> str:
    one = bool(signature_of(operations[0]).found)
    head = f"/** What callers can do {'with one' if one else 'about'} {owner}. */\nclass {owner.title()}Acts"
    if one:
        return f"{head} extends History {{{''.join(map(_method, operations))}}}\n"
    constructor = "  constructor(transport) {\n    this._transport = transport;\n  }\n"
    return f"{head} {{\n{constructor}{''.join(map(_method, operations))}}}\n"


def _declaration(owner: str, operations: list[Operation]) -> str:
    one = bool(signature_of(operations[0]).found)
    head = f"declare class {owner.title()}Acts{' extends History' if one else ''}"
    return f"{head} {{\n{''.join(map(_declared, operations))}}}\n"


def _method(operation: Operation) -> str:
    signature = signature_of(operation)
    parts = []
    for name, parameters in (("params", signature.query), ("json", signature.body)):
        if parameters:
            parts.append(f"{name}: {{ {', '.join(map(_sent, parameters))} }}")
    if operation.keyed:
        parts.append('headers: { "idempotency-key": idempotencyKey ?? newId() }')
    if not operation.repeatable:
        parts.append("safe: false")
    more = f", {{ {', '.join(parts)} }}" if parts else ""
    asked = f'this._transport.{_way(operation)}("{operation.method}", {_address(operation)}{more})'
    rows = _rows(signature.answer)
    answer = f"return (await {asked}).{rows};" if rows else f"return {asked};"
    name = javascript_name(operation.name.partition(".")[2])
    head = f"{'async ' if rows else ''}{name}({_taken(operation)})"
    help_text = " ".join(signature.help.partition("\n\n")[0].split())
    return f"\n  /** {help_text} */\n  {head} {{\n    {answer}\n  }}\n"


def _way(operation: Operation) -> str:
    """Return how an answer is read: that an event was there before, under its key, is in the status."""
    return "record" if _appends(operation) else "ask"


def _appends(operation: Operation) -> bool:
    return signature_of(operation).answer is Event and operation.keyed


def _address(operation: Operation) -> str:
    """Return the address; of one thing, below its path."""
    path, found = template_of(operation), signature_of(operation).found
    if found:
        path = "${this._path}" + path[max(path.index(f"{{{name}}}") + len(name) + 2 for name in found) :]
    path = re.sub(r"(?<!\$){(\w+)}", lambda named: f"${{segment({javascript_name(named[1])})}}", path)
    return f"`{path}`" if "${" in path else f'"{path}"'


def _split(operation: Operation) -> tuple[list[Parameter], list[Parameter]]:
    """Return the parameters that have a place, and those that have a name."""
    signature, kinds = signature_of(operation), inspect.signature(operation.run).parameters
    every = {each.name: each for each in (*signature.path, *signature.query, *signature.body)}
    taken = [every[name] for name in kinds if name in every and name not in signature.found]
    named = inspect.Parameter.KEYWORD_ONLY
    placed = [each for each in taken if each.required or kinds[each.name].kind is not named]
    return placed, [each for each in taken if each not in placed]


def _sent(parameter: Parameter) -> str:
    name = javascript_name(parameter.alias)
    return parameter.alias if name == parameter.alias else f"{parameter.alias}: {name}"


def _taken(operation: Operation) -> str:
    placed, named = _split(operation)
    words = [f"{javascript_name(each.alias)} = {_default(each.default)}" for each in named]
    if operation.keyed:
        words.append("idempotencyKey = null")
    options = [f"{{ {', '.join(words)} }} = {{}}"] if words else []
    first = [
        javascript_name(each.alias) + ("" if each.required else f" = {_default(each.default)}")
        for each in placed
    ]
    return ", ".join([*first, *options])


def _default(value: Any) -> str:
    return json.dumps(value)


def _declared(operation: Operation) -> str:
    placed, named = _split(operation)
    words = [
        f"{javascript_name(each.alias)}{'' if each.required else '?'}: {_type(each.type)}" for each in placed
    ]
    options = [f"{javascript_name(each.alias)}?: {_type(each.type)}" for each in named]
    if operation.keyed:
        options.append("idempotencyKey?: string | null")
    if options:
        words.append(f"options?: {{ {'; '.join(options)} }}")
    answer = signature_of(operation).answer
    rows = _rows(answer)
    found = f"{_row_type(answer)}[]" if rows else "Appended" if _appends(operation) else _type(answer)
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
    if isinstance(kind, type) and is_dataclass(kind) and kind not in NAMES:
        hints = get_type_hints(kind)
        for hint in [hints[row_field(kind)]] if issubclass(kind, Rows) else hints.values():
            yield from _objects(hint)
        if not issubclass(kind, Rows):
            yield kind


def _interface(kind: type, *, given: bool) -> str:
    hints = get_type_hints(kind)
    optional = {each.name for each in fields(kind) if given and each.default is not MISSING}
    lines = "".join(
        f"  {name}{'?' if name in optional else ''}: {_type(hint)};\n" for name, hint in hints.items()
    )
    return f"/** {inspect.cleandoc(kind.__doc__ or '')} */\nexport interface {kind.__name__} {{\n{lines}}}\n"


def _type(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _type(inner[0])
    if hint is NoneType:
        return "null"
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(map(_type, inner)))
    if origin is Literal:
        return " | ".join(f'"{each}"' for each in inner)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return " | ".join(f'"{each}"' for each in hint)
    if origin is not None:
        if issubclass(origin, Mapping):
            return "Payload" if inner[1] is Any else f"{{ [name: string]: {_type(inner[1])} }}"
        return f"Array<{_type(inner[0])}>"
    return NAMES.get(hint) or ("any" if hint is Any else hint.__name__)
