"""An act as a value. Its function says the rest, once: its parameters are what a caller gives, its docstring
is the help, and what it returns is the answer.

A parameter that the address names is part of the address. The others are in the query of a GET, a DELETE or
an act that is `queried`, and fields of a JSON object otherwise. A text in `Annotated` describes a parameter;
an alias is its name outside Python. Doors give three parameters: the first one (`of` finds it), `actor` and
`idempotency_key`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from foja.interfaces.operations.caller import Caller
from foja.pure.models.access.principal import Principal, Scope

AUTHOR = "who it is from, if a program acts for others"
# An actor that a request may name; without this, `actor` is who calls.
Author = Annotated[str | None, AUTHOR]
GIVEN = frozenset({"actor", "idempotency_key"})  # by the door, as it knows the caller and the request
QUERIED = frozenset({"GET", "DELETE"})
_NAMED = re.compile(r"{(\w+)(:\w+)?}")


Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Option:
    """How a command takes a parameter, where its name and its type do not say that."""

    parameter: str
    usage: str | None  # as in the usage of the command, `--kind KIND...`; None: the command does not take it
    kind: str | None = None  # of its values, as the command line names it
    help: str | None = None


@dataclass(frozen=True, slots=True)
class Made(Generic[Answer]):
    """An answer, and whether it is about something that this request made (201) or that was there (200)."""

    answer: Answer
    new: bool


def _caller(caller: Caller) -> Caller:
    return caller


@dataclass(frozen=True, slots=True)
class Operation:
    """What a caller can do."""

    name: str  # `jobs.retry` of a service, `conversation.append` of one thing: also a method of the clients
    address: str  # `POST /v1/jobs/{job_id}/retry`; empty for what only AI agents can do
    run: Callable[..., Awaitable[Any]]
    scope: Scope | None  # None: whoever is known may do it
    of: Callable[..., Any] = _caller  # finds what `run` acts on, perhaps by names in the address
    installation: bool = False  # whether it concerns all tenants: then the app is that of the installation
    new: Callable[[Any], bool] | None = None  # whether the answer is about something new (201) or known (200)
    # Under an Idempotency-Key that no stream takes: the names of what was made, to be remembered.
    made: Callable[[Any], Sequence[str]] | None = None
    takes_key: bool = False  # whether `run` itself remembers what it made under a key
    answer: Any = None  # the type of the JSON, where it is not what `run` returns
    queried: bool = False  # whether what it is given is in the query, whatever its method
    repeatable: bool = True  # whether asking twice does what asking once does
    status: int = 200
    location: str | None = None  # the address of what was made, from the answer
    verb: str | None = None  # the words of the command that does it
    examples: str = ""  # of that command; empty: with --json
    tool: str | None = None  # the name of the tool for AI agents that does it
    options: tuple[Option, ...] = ()  # of that command
    client: bool = True  # whether the clients have it; not where another of theirs does the same

    @property
    def owner(self) -> str:
        """Return the name of the service or of the thing that it belongs to."""
        return self.name.partition(".")[0]

    @property
    def method(self) -> str:
        """Return the method of HTTP."""
        return self.address.partition(" ")[0]

    @property
    def path(self) -> str:
        """Return the path of the address."""
        return self.address.partition(" ")[2]

    def check(self, principal: Principal) -> None:
        """Raise `NotAllowed` unless a caller may do it."""
        if self.scope is not None:
            principal.check(self.scope, installation=self.installation)

    @property
    def keyed(self) -> bool:
        """Return whether it takes an Idempotency-Key."""
        return self.takes_key or self.made is not None or "idempotency_key" in signature_of(self).given


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
    found: frozenset[str]  # the names in the address that `of` takes
    ran: frozenset[str]  # all that `run` takes
    answer: Any
    made: bool  # whether `run` says if the answer is about something new
    help: str


@cache
def signature_of(operation: Operation) -> Signature:
    """Return what the function of an act says."""
    found, run = _parameters(operation.of), _parameters(operation.run)
    named = [name for name, _ in _NAMED.findall(operation.path)]
    given = {name for name in GIVEN & run.keys() if run[name].help != AUTHOR}
    taken = [each for name, each in (found | run).items() if name not in given]
    rest = tuple(each for each in taken if each.name not in named)
    queried = operation.queried or operation.method in QUERIED
    answer = get_type_hints(operation.run, include_extras=True)["return"]
    made = get_origin(answer) is Made
    return Signature(
        path=tuple(each for each in taken if each.name in named),
        query=rest if queried else (),
        body=() if queried else rest,
        given=frozenset(given),
        found=frozenset(found),
        ran=frozenset(run),
        answer=operation.answer or (get_args(answer)[0] if made else answer),
        made=made,
        help=inspect.getdoc(operation.run) or "",
    )


def template_of(operation: Operation) -> str:
    """Return the path as OpenAPI writes it."""
    return _NAMED.sub(r"{\1}", operation.path)


def _parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the parameters of a function after its first one."""
    hints = get_type_hints(function, include_extras=True)
    _, *parameters = inspect.signature(function).parameters.values()
    return {each.name: _parameter(each, hints[each.name]) for each in parameters}


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
