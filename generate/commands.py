"""The parser of the commands that do one act, from the tables of operations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from foja.interfaces.operations import OPERATIONS
from foja.interfaces.operations.operation import Operation, Parameter, signature_of
from generate.source import NOTE, formatted

HEAD = f'''"""The commands that do one act. {NOTE}"""

from __future__ import annotations

from foja.interfaces.cli.parser.verbs import Act, Argument

ACTS = (
'''


def text() -> str:
    """Return the module."""
    return formatted(HEAD + "".join(f"    {_act(each)},\n" for each in OPERATIONS if each.verb) + ")\n")


def _act(operation: Operation) -> str:
    signature = signature_of(operation)
    kinds = inspect.signature(operation.run).parameters
    known = {each.name: each for each in (*signature.path, *signature.query, *signature.body)}
    arguments = "".join(
        f"{_argument(operation, known[name], kinds[name])}, " for name in kinds if name in known
    )
    sentence = signature.help.partition("\n\n")[0].rstrip(".").replace("Return ", "Show ", 1)
    sentence = sentence[:1].lower() + " ".join(sentence[1:].split())
    return (
        f"Act({operation.verb!r}, {operation.name!r}, {sentence!r}, {operation.examples!r}, ({arguments}), "
        f"{'actor' in signature.given!r})"
    )


def _argument(operation: Operation, parameter: Parameter, found: inspect.Parameter) -> str:
    kind, several, choices = _kind(parameter.type)
    if parameter.name in COUNTED:
        kind = "positive"
    words = [repr(parameter.name), repr(_name(operation, parameter, found)), repr(kind)]
    if several:
        words.append("several=True")
    if choices:
        words.append(f"choices={tuple(choices)!r}")
    if parameter.help:
        words.append(f"help={parameter.help!r}")
    if not parameter.required and parameter.default is not None and parameter.default != ():
        words.append(f"default={parameter.default!r}")
    return f"Argument({', '.join(words)})"


def _name(operation: Operation, parameter: Parameter, found: inspect.Parameter) -> str:
    """Return the name of an argument: `ID` of one that has a place, `--entity` of one that has a name."""
    name = parameter.alias.removesuffix("_id")
    if found.kind is inspect.Parameter.KEYWORD_ONLY:
        return f"--{name.replace('_', '-')}"
    own = parameter.alias == "ids" or (name != parameter.alias and f"{name}s" == operation.owner)
    return "ID" if own else name.rpartition("_")[2].upper()


def _kind(hint: Any) -> tuple[str, bool, Sequence[str]]:
    """Return the name of a type of the command line, whether there may be several, and the choices."""
    found = list(_innermost(hint))
    choices = [value for each in found if get_origin(each) is Literal for value in get_args(each)]
    several = any(get_origin(each) not in (None, Literal) for each in found)
    plain = [each for each in found if get_origin(each) is None]
    kind = next((name for kind, name in KINDS if kind in plain), "text")
    return kind, several, choices


KINDS = ((bool, "flag"), (int, "number"), (float, "seconds"), (UUID, "id"))
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
