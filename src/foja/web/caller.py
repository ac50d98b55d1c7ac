"""Who sends a request: the principal, and the app as the principal's tenant uses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from foja.access.model.principal import ALL, LOCAL, Principal, Scope
from foja.tenants.app import TenantApp
from foja.web.bodies import RequestBody
from foja.web.context import Context, WebContext


@dataclass(frozen=True, slots=True)
class Caller:
    """A checked request: who sends it, and what it may use."""

    principal: Principal
    ctx: WebContext

    @property
    def app(self) -> TenantApp:
        """The app as the principal's tenant uses it."""
        return self.ctx.app.tenant(self.principal.tenant)

    def author(self, named: str | None) -> str | None:
        """Return the actor to record, where the request names one or none."""
        return self.principal.author(named)

    def signed(self, body: RequestBody) -> dict[str, Any]:
        """Return the fields of a body with the actor to record."""
        fields = dict(body)
        return {**fields, "actor": self.author(fields.get("actor"))}


async def principal_of(request: Request, ctx: Context) -> Principal:
    """Return who sends a request. Without keys, the local user is the administrator."""
    return Principal(ctx.app.settings.own_tenant, LOCAL, ALL, installation=True)


async def caller_of(ctx: Context, principal: Annotated[Principal, Depends(principal_of)]) -> Caller:
    """Return the caller of a request, whatever it may do: a route asks for a scope beside."""
    return Caller(principal, ctx)


AnyCaller = Annotated[Caller, Depends(caller_of)]


def needs(scope: Scope, *, installation: bool = False) -> Callable[..., Awaitable[Caller]]:
    """Return a dependency that refuses a request whose principal does not have a scope."""

    async def caller(caller: AnyCaller) -> Caller:
        caller.principal.check(scope, installation=installation)
        return caller

    return caller


Reader = Annotated[Caller, Depends(needs(Scope.READ))]
Writer = Annotated[Caller, Depends(needs(Scope.WRITE))]
Approver = Annotated[Caller, Depends(needs(Scope.APPROVE))]
Operator = Annotated[Caller, Depends(needs(Scope.OPERATE))]
Administrator = Annotated[Caller, Depends(needs(Scope.ADMIN))]
