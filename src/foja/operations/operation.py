"""An act as a value. Its function says the rest, once: its parameters are what a caller gives, its docstring
is the help, and what it returns is the answer.

A parameter that the address names is part of the address. The others are in the query of a GET or a DELETE,
and fields of a JSON object otherwise. A text in `Annotated` describes a parameter; an alias is its name
outside Python. Doors give three parameters: the first one (`of` finds it), `actor` and `idempotency_key`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from foja.access.model.principal import Scope
from foja.tenants.app import TenantApp

GIVEN = frozenset({"actor", "idempotency_key"})  # by the door, as it knows the caller and the request
QUERIED = frozenset({"GET", "DELETE"})
_NAMED = re.compile(r"{(\w+)(:\w+)?}")


def _whole(app: TenantApp) -> TenantApp:
    return app


@dataclass(frozen=True, slots=True)
class Operation:
    """What a caller can do."""

    name: str  # `jobs.retry`: the service, and the method of the clients
    address: str  # `POST /v1/jobs/{job_id}/retry`
    run: Callable[..., Awaitable[Any]]
    scope: Scope
    of: Callable[[TenantApp], Any] = _whole  # what `run` acts on
    installation: bool = False  # whether it concerns all tenants: then the app is that of the installation
    new: Callable[[Any], bool] | None = None  # whether the answer is about something new (201) or known (200)
    # Under an Idempotency-Key that no stream takes: the names of what was made, to be remembered.
    made: Callable[[Any], Sequence[str]] | None = None
    verb: str | None = None  # the words of the command that does it
    examples: str = ""  # of that command
    client: bool = True  # whether the clients have it; not where another of theirs does the same

    @property
    def service(self) -> str:
        """Return the name of the service that does it."""
        return self.name.partition(".")[0]

    @property
    def method(self) -> str:
        """Return the method of HTTP."""
        return self.address.partition(" ")[0]

    @property
    def path(self) -> str:
        """Return the path of the address."""
        return self.address.partition(" ")[2]

    @property
    def keyed(self) -> bool:
        """Return whether it takes an Idempotency-Key."""
        return self.made is not None or "idempotency_key" in signature_of(self).given


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a caller gives an act."""

    name: str
    type: Any  # with its limits
    default: Any  # `inspect.Parameter.empty` if it must be given
    alias: str  # outside Python
    help: str | None

    @property
    def required(self) -> bool:
        """Return whether it must be given."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of an act by where they are sent, and its answer."""

    path: tuple[Parameter, ...]
    query: tuple[Parameter, ...]
    body: tuple[Parameter, ...]
    given: frozenset[str]  # those that the door gives
    answer: Any
    help: str


@cache
def signature_of(operation: Operation) -> Signature:
    """Return what the function of an act says."""
    hints = get_type_hints(operation.run, include_extras=True)
    _, *parameters = inspect.signature(operation.run).parameters.values()
    named = [name for name, _ in _NAMED.findall(operation.path)]
    taken = [_parameter(each, hints[each.name]) for each in parameters if each.name not in GIVEN]
    rest = tuple(each for each in taken if each.name not in named)
    queried = operation.method in QUERIED
    return Signature(
        path=tuple(each for each in taken if each.name in named),
        query=rest if queried else (),
        body=() if queried else rest,
        given=GIVEN & {each.name for each in parameters},
        answer=hints["return"],
        help=inspect.getdoc(operation.run) or "",
    )


def template_of(operation: Operation) -> str:
    """Return the path as OpenAPI writes it."""
    return _NAMED.sub(r"{\1}", operation.path)


def _parameter(found: inspect.Parameter, hint: Any) -> Parameter:
    words, fields = [], []
    for each in metadata(hint):
        if isinstance(each, str):
            words.append(each)
        elif isinstance(each, FieldInfo) and each.alias:
            fields.append(each.alias)
    return Parameter(
        found.name, hint, found.default, fields[0] if fields else found.name, words[-1] if words else None
    )


def metadata(hint: Any) -> Iterator[Any]:
    """Yield what `Annotated` says of a type, of the innermost first."""
    if get_origin(hint) is Annotated:
        inner, *said = get_args(hint)
        yield from metadata(inner)
        yield from said
