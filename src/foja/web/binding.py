"""Operations over HTTP: each is a route. Who asks, for which tenant, and what they may do is checked here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin
from urllib.parse import urlencode
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError, create_model
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from foja.operations.operation import Operation, Parameter, signature_of
from foja.pages import Rows
from foja.requests.model.events import REQUEST
from foja.requests.service import KeyedRequest
from foja.web.access.authentication import grant_of
from foja.web.bodies import parse_body
from foja.web.caller import Caller
from foja.web.context import context_of
from foja.web.problems import Rejected, describe_errors
from foja.web.streams.appends import check_key
from foja.web.transfer.encoder import JsonAnswer

KEY = "Idempotency-Key"
CREATED, OK = 201, 200


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
        caller = Caller(await grant_of(request, ctx), ctx)
        await ctx.rate.admit(caller.principal)
        caller.principal.check(self.operation.scope, installation=self.operation.installation)
        return await self._run(request, caller)

    async def _run(self, request: Request, caller: Caller) -> Response:
        operation = self.operation
        sent = self._parameters(request)
        body = await parse_body(request, self.body) if self.body else None
        arguments = sent | (vars(body) if body else {}) | self._given(request, caller)
        remembered = self._remembered(request, caller)
        asked = body.model_dump(mode="json") if body and remembered else {}
        if remembered:
            await remembered.found(asked)
        app = caller.ctx.app if operation.installation else caller.app
        result = await operation.run(operation.of(app), **arguments)
        if remembered and operation.made:
            await remembered.note(asked, *operation.made(result))
        status = CREATED if operation.new and operation.new(result) else OK
        return JsonAnswer(_shown(result, request), status)

    def _parameters(self, request: Request) -> dict[str, Any]:
        """Return what the address and its query give; raise `Rejected` if it is not valid."""
        if not self.parameters:
            return {}
        names = {each.alias for each in (*self.signature.path, *self.signature.query)}
        given = {**request.query_params, **request.path_params}
        try:
            found = self.parameters.model_validate({name: given[name] for name in names & given.keys()})
        except ValidationError as error:
            raise Rejected(422, "A parameter is not valid.", describe_errors(error.errors())) from None
        return vars(found)

    def _given(self, request: Request, caller: Caller) -> dict[str, Any]:
        """Return what the function takes of the caller and of the head of the request."""
        found: dict[str, Any] = {}
        if "actor" in self.signature.given:
            found["actor"] = caller.principal.actor
        if "idempotency_key" in self.signature.given:
            found["idempotency_key"] = _key(request)
        return found

    def _remembered(self, request: Request, caller: Caller) -> KeyedRequest | None:
        if self.operation.made is None:
            return None
        ledger, address = caller.app.ledger.only(REQUEST), request.url.path
        return KeyedRequest(ledger, caller.principal.actor, address, _key(request))

    @cached_property
    def parameters(self) -> type[BaseModel] | None:
        """The model of the address and its query, which are texts: they are converted."""
        return self._model("Parameters", (*self.signature.path, *self.signature.query), ConfigDict())

    @cached_property
    def body(self) -> type[BaseModel] | None:
        """The model of the body: no value is converted, and no field is ignored."""
        return self._model("Body", self.signature.body, ConfigDict(strict=True, extra="forbid"))

    def _model(
        self, suffix: str, parameters: tuple[Parameter, ...], config: ConfigDict
    ) -> type[BaseModel] | None:
        if not parameters:
            return None
        words = self.operation.name.replace("_", ".").split(".")
        fields: Any = {
            each.name: (
                Annotated[as_json(each.type), Field(alias=each.alias, description=each.help)],
                ... if each.required else each.default,
            )
            for each in parameters
        }
        return create_model("".join(map(str.title, words)) + suffix, __config__=config, **fields)


def as_json(hint: Any) -> Any:
    """Return a type as JSON can give it: an id is a text also where nothing is converted."""
    if hint is UUID:
        return Annotated[UUID, Strict(False)]
    if get_origin(hint) is Annotated:
        inner, *said = get_args(hint)
        return Annotated[as_json(inner), *said]
    if get_origin(hint) in (Union, UnionType):
        return reduce(or_, map(as_json, get_args(hint)))
    return hint


def _key(request: Request) -> str | None:
    key = request.headers.get(KEY)
    check_key(key)
    return key


def _shown(result: Any, request: Request) -> Any:
    """Return what an answer contains; a page has the address of the next one."""
    if not isinstance(result, Rows) or result.next is None:
        return result
    query = {**request.query_params, "before": result.next}
    found: Mapping[str, Any] = {each.name: getattr(result, each.name) for each in fields(result)}  # type: ignore[arg-type]
    return {**found, "next": f"{request.url.path}?{urlencode(query)}"}
