"""The parser of the commands that do one act, from the tables of operations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from foja.interfaces.operations import OPERATIONS
from foja.interfaces.operations.operation import Operation, Option, Parameter, signature_of
from generate.source import NOTE, formatted

HEAD = f'''"""The commands that do one act. {NOTE}"""
# ruff: noqa: E501

from __future__ import annotations

from uuid import UUID

from foja.interfaces.cli.parser.commands import ACTOR, Argument, command
from foja.interfaces.cli.parser.values import (
    digest, duration, expiry, hours, kinds, number, positive, scopes, seconds, web_address
)

ACTS = (
'''


def text() -> str:
    """Return the module."""
    return formatted(HEAD + "".join(f"    {_act(each)},\n" for each in OPERATIONS if each.verb) + ")\n")


def _act(operation: Operation) -> str:
    signature = signature_of(operation)
    kinds = inspect.signature(operation.run).parameters
    known = {each.name: each for each in (*signature.path, *signature.query, *signature.body)}
    options = {each.parameter: each for each in operation.options}
    arguments = [
        _argument(operation, known[name], kinds[name], options.get(name))
        for name in kinds
        if name in known and (name not in options or options[name].usage)
    ]
    if "actor" in signature.given or operation.takes_key:
        arguments.append("ACTOR")
    sentence = signature.help.partition("\n\n")[0].rstrip(".").replace("Return ", "Show ", 1)
    sentence = sentence[:1].lower() + " ".join(sentence[1:].split())
    examples = operation.examples or f"foja {operation.verb} --json"
    words = map(repr, (operation.verb, operation.name, sentence, examples))
    return f"command({', '.join((*words, *arguments))})"


def _argument(
    operation: Operation, parameter: Parameter, found: inspect.Parameter, option: Option | None
) -> str:
    kind, several, choices = _kind(parameter.type)
    if parameter.name in COUNTED:
        kind = "positive"
    words = parameter.help or ""
    if not parameter.required and parameter.default:
        shown = ", ".join(parameter.default) if several else parameter.default
        words = f"{words} ({shown})".strip()
    name = _name(operation, parameter, found, kind)
    if name.startswith("--") and kind != "bool" and not choices:
        name = f"{name} {name.removeprefix('--').upper().replace('-', '_')}"
    usage = f"[{name}...]" if several else name
    if option:
        usage, kind, words = option.usage or "", option.kind or kind, option.help or words
    said = [repr(usage), repr(words or None), kind, repr(parameter.name)]
    if choices:
        said.append(f"choices={tuple(choices)!r}")
    if parameter.required and usage.startswith("-"):
        said.append("required=True")
    return f"Argument({', '.join(said)})"


def _name(operation: Operation, parameter: Parameter, found: inspect.Parameter, kind: str) -> str:
    """Return the name of an argument: `ID` of one that has a place, `--entity` of one that has a name."""
    name = parameter.alias.removesuffix("_id")
    if found.kind is inspect.Parameter.KEYWORD_ONLY:
        return f"--{name.replace('_', '-')}"
    own = name != parameter.alias and f"{name}s" == operation.owner and kind != "UUID"
    return "ID" if own or parameter.alias == "ids" else name.rpartition("_")[2].upper()


def _kind(hint: Any) -> tuple[str, bool, Sequence[str]]:
    """Return the name of a type of the command line, whether there may be several, and the choices."""
    found = list(_innermost(hint))
    choices = [value for each in found if get_origin(each) is Literal for value in get_args(each)]
    several = any(get_origin(each) not in (None, Literal) for each in found)
    plain = [each for each in found if get_origin(each) is None]
    kind = next((name for kind, name in KINDS if kind in plain), "str")
    return kind, several, choices


KINDS = ((bool, "bool"), (int, "number"), (float, "seconds"), (UUID, "UUID"))
COUNTED = ("limit", "days")  # of the rows of a list, a command reads as many pages as that takes


def _innermost(hint: Any) -> Iterator[Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from _innermost(inner[0])
    elif origin in (Union, UnionType):
        for each in inner:
            yield from _innermost(each)
    elif hint is not NoneType:
        yield hint
        if origin is not None and origin is not Literal:
            for each in inner:
                yield from _innermost(each)
