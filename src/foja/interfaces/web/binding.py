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
from foja.interfaces.operations.caller import Caller, check_key
from foja.interfaces.operations.operation import Made, Operation, Parameter, signature_of
from foja.interfaces.web.access.authentication import grant_of
from foja.interfaces.web.bodies import parse_body
from foja.interfaces.web.context import context_of
from foja.interfaces.web.problems import Rejected, describe_errors
from foja.interfaces.web.transfer.encoder import JsonAnswer
from foja.pure.pages import Rows, next_of

KEY = "Idempotency-Key"
CREATED, OK = 201, 200
STRICT = ConfigDict(strict=True, extra="forbid")


class OperationRoute(Route):
    """The route of an operation; the models of what it takes are made when they are needed first."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation.path, self.answer, methods=[operation.method], name=operation.name)
        self.methods = {operation.method}
        self.operation, self.signature = operation, signature_of(operation)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Name the route for metrics and spans, as a route of FastAPI does."""
        match, found = super().matches(scope)
        return match, {**found, "route": self} if found else found

    async def answer(self, request: Request) -> Response:
        """Do what a request asks, for its caller."""
        ctx = await context_of(request)
        grant = await grant_of(request, ctx)
        principal = grant.principal
        await ctx.rate.admit(principal)
        app = ctx.app if self.operation.installation else ctx.app.tenant(principal.tenant)
        self.operation.check(principal)
        given, asked = self._parameters(request), None
        if self.body:
            body = await parse_body(request, self.body)
            given |= vars(body)
            asked = json.loads(bytes(JsonAnswer(vars(body)).body)) if self.operation.made else None
        caller = Caller(app, principal, _key(request), request.url.path, grant.credential)
        return self._shown(await call(self.operation, caller, given, asked), request)

    def _shown(self, result: Any, request: Request) -> Response:
        """Return an answer; a page has the address of the next one."""
        operation = self.operation
        status = operation.status
        if operation.new:
            status = CREATED if operation.new(result) else OK
        if isinstance(result, Made):
            result, status = result.answer, CREATED if result.new else OK
        where = {"Location": operation.location.format(result)} if operation.location else None
        if isinstance(result, Rows) and next_of(result) is not None:
            result = _with_address(result, request)
        return JsonAnswer(result, status, where)

    def _parameters(self, request: Request) -> dict[str, Any]:
        """Return what the address and its query give; raise `Rejected` if it is not valid."""
        if not self.parameters:
            return {}
        names = {each.alias for each in (*self.signature.path, *self.signature.query)}
        query = request.query_params
        several = {each.alias for each in self.signature.query if _is_list(each.type)}
        given = {name: query.getlist(name) if name in several else query[name] for name in query}
        given |= request.path_params
        try:
            found = self.parameters.model_validate({name: given[name] for name in names & given.keys()})
        except ValidationError as error:
            raise Rejected(422, "A parameter is not valid.", describe_errors(error.errors())) from None
        return vars(found)

    @cached_property
    def parameters(self) -> type[BaseModel] | None:
        """The model of the address and its query, which are texts: they are converted."""
        return self._model("Parameters", (*self.signature.path, *self.signature.query), ConfigDict())

    @cached_property
    def body(self) -> type[BaseModel] | None:
        """The model of the body: no value is converted, and no field is ignored."""
        return self._model("Body", self.signature.body, STRICT)

    def _model(
        self, suffix: str, parameters: tuple[Parameter, ...], config: ConfigDict
    ) -> type[BaseModel] | None:
        if not parameters:
            return None
        words = self.operation.name.replace("_", ".").split(".")
        fields: Any = {
            each.name: (
                Annotated[accepted(each.type), Field(alias=each.alias, description=each.help)],
                ... if each.required else each.default,
            )
            for each in parameters
        }
        return create_model("".join(map(str.title, words)) + suffix, __config__=config, **fields)


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


def _is_list(hint: Any) -> bool:
    return _is_list(get_args(hint)[0]) if get_origin(hint) is Annotated else get_origin(hint) is list


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


def _key(request: Request) -> str | None:
    key = request.headers.get(KEY)
    check_key(key)
    return key


def _with_address(page: Rows[Any], request: Request) -> Mapping[str, Any]:
    """Return a page with the address of the next one."""
    query = {**request.query_params, page.by: next_of(page)}
    found = {each.name: getattr(page, each.name) for each in fields(page)}  # type: ignore[arg-type]
    return {**found, "next": f"{request.url.path}?{urlencode(query)}"}
