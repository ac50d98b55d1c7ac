"""Operations over HTTP: each is a route. Who asks, for which tenant, and what they may do is checked here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache, cached_property, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from urllib.parse import urlencode
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    create_model,
)
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from foja.interfaces.operations.call import call
from foja.interfaces.operations.caller import check_key
from foja.interfaces.operations.operation import Made, Operation, Parameter, Signature, signature_of
from foja.interfaces.web.bodies import parse_body
from foja.interfaces.web.caller import caller_of
from foja.interfaces.web.operation import HttpOperation
from foja.interfaces.web.problems import Rejected, describe_errors
from foja.interfaces.web.transfer.encoder import JsonAnswer
from foja.pure.pages import Rows, next_of

CREATED, OK = 201, 200
STRICT = ConfigDict(strict=True, extra="forbid")


class BoundRoute(Route):
    """A route that gives a function the request, and what its address and query name.

    The models of what it takes are made when they are needed first.
    """

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation.path, self.answer, methods=[operation.method], name=operation.name)
        self.methods = {operation.method}
        self.operation = operation

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Name the route for metrics and spans."""
        match, found = super().matches(scope)
        return match, {**found, "route": self} if found else found

    async def answer(self, request: Request) -> Response:
        """Answer a request, whoever sends it."""
        response: Response = await self.operation.run(request, **self.given(request))
        return response

    def given(self, request: Request) -> dict[str, Any]:
        """Return what the address and its query give; raise `Rejected` if it is not valid."""
        if not self.parameters:
            return {}
        given: dict[str, Any] = {}
        for each in self.signature.query:
            values = request.query_params.getlist(each.alias)
            if each.alias in self._several and values:
                given[each.alias] = values
            elif len(values) > 1:
                raise _not_valid(f"{each.alias}: it is repeated; send it once")
            elif values:
                given[each.alias] = values[0]
        return validated(self.parameters, given | request.path_params)

    @property
    def described(self) -> bool:
        """Whether it is in the OpenAPI document."""
        return not isinstance(self.operation, HttpOperation) or self.operation.described

    @cached_property
    def signature(self) -> Signature:
        """What the function takes and returns."""
        return signature_of(self.operation)

    @cached_property
    def _several(self) -> frozenset[str]:
        return frozenset(each.alias for each in self.signature.query if takes_several(each.type))

    @cached_property
    def parameters(self) -> type[BaseModel] | None:
        """The model of the address and its query, which are texts: they are converted."""
        parameters = (*self.signature.path, *self.signature.query)
        return model_of(self.operation, "Parameters", parameters, ConfigDict())


class OperationRoute(BoundRoute):
    """The route of an operation."""

    async def answer(self, request: Request) -> Response:
        """Do what a request asks, for its caller."""
        operation = self.operation
        caller = await caller_of(request, installation=operation.installation)
        await caller.ctx.rate.admit(caller.principal)
        operation.check(caller.principal)
        given, asked = self.given(request), None
        if self.body:
            body = await parse_body(request, self.body)
            given |= vars(body)
            asked = json.loads(bytes(JsonAnswer(vars(body)).body)) if operation.made else None
        check_key(caller.key)
        return self._shown(await call(operation, caller, given, asked), request)

    def _shown(self, result: Any, request: Request) -> Response:
        """Return an answer; a page has the address of the next one."""
        operation = self.operation
        if isinstance(result, Response):
            return result
        status = operation.status
        if operation.new:
            status = CREATED if operation.new(result) else OK
        if isinstance(result, Made):
            result, status = result.answer, CREATED if result.new else OK
        where = None
        if operation.location:
            where = {"Location": operation.location.format(result, **request.path_params)}
        if isinstance(result, Rows) and next_of(result) is not None:
            result = _with_address(result, request)
        return JsonAnswer(result, status, where)

    @cached_property
    def body(self) -> type[BaseModel] | None:
        """The model of the body: no value is converted, and no field is ignored."""
        return model_of(self.operation, "Body", self.signature.body, STRICT)


def model_of(
    operation: Operation, suffix: str, parameters: Sequence[Parameter], config: ConfigDict
) -> type[BaseModel] | None:
    """Return the model of these parameters of an operation; None if there are none."""
    if not parameters:
        return None
    words = operation.name.replace("_", ".").split(".")
    fields: Any = {
        each.name: (
            Annotated[accepted(each.type), Field(alias=each.alias, description=each.help)],
            ... if each.required else each.default,
        )
        for each in parameters
    }
    return create_model("".join(map(str.title, words)) + suffix, __config__=config, **fields)


def validated(model: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what texts give as a model has it; raise `Rejected` if it is not valid."""
    try:
        return vars(model.model_validate(given))
    except ValidationError as error:
        raise _not_valid(describe_errors(error.errors())) from None


def _not_valid(detail: str) -> Rejected:
    return Rejected(422, "A parameter is not valid.", detail)


def accepted(hint: Any) -> Any:
    """Return a type as JSON can give it where nothing is converted: an id is a text, an object a dict."""
    if hint is UUID:
        return Annotated[UUID, Strict(False)]
    if hint is datetime:
        return Annotated[datetime, BeforeValidator(_moment)]
    if is_dataclass(hint) and isinstance(hint, type):
        return Annotated[object_model(hint), AfterValidator(lambda found: hint(**vars(found)))]
    if get_origin(hint) in (list, Sequence):
        return list[accepted(get_args(hint)[0])]  # type: ignore[misc]
    if get_origin(hint) is Annotated:
        inner, *said = get_args(hint)
        return Annotated[accepted(inner), *said]
    if get_origin(hint) in (Union, UnionType):
        return reduce(or_, map(accepted, get_args(hint)))
    return hint


def takes_several(hint: Any) -> bool:
    """Return whether a parameter may be a list, so that a query or a form gives all its values."""
    if get_origin(hint) is Annotated:
        return takes_several(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return any(map(takes_several, get_args(hint)))
    return get_origin(hint) in (list, Sequence)


def _moment(text: Any) -> datetime:
    """Return a time; one without a time zone is in UTC."""
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise ValueError("not a time; expected one such as 2026-01-31 12:00+00:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@cache
def object_model(kind: type) -> type[BaseModel]:
    """Return the model of an object in a body, which becomes this dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    found: Any = {
        each.name: (accepted(hints[each.name]), ... if each.default is MISSING else each.default)
        for each in fields(kind)
    }
    return create_model(kind.__name__, __config__=STRICT, __doc__=kind.__doc__, **found)


def _with_address(page: Rows[Any], request: Request) -> Mapping[str, Any]:
    """Return a page with the address of the next one."""
    query = {**request.query_params, page.by: next_of(page)}
    found = {each.name: getattr(page, each.name) for each in fields(page)}  # type: ignore[arg-type]
    return {**found, "next": f"{request.url.path}?{urlencode(query)}"}
