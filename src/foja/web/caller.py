"""Who sends a request: the principal, and the app as the principal's tenant uses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from foja.access.model.principal import ALL, Principal, Scope
from foja.tenants.app import TenantApp
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


async def principal_of(request: Request, ctx: Context) -> Principal:
    """Return who sends a request. Without keys, the local user is the administrator."""
    return Principal(ctx.app.settings.own_tenant, "local", ALL, installation=True)


def needs(scope: Scope, *, installation: bool = False) -> Callable[..., Awaitable[Caller]]:
    """Return a dependency that refuses a request whose principal does not have a scope."""

    async def caller(ctx: Context, principal: Annotated[Principal, Depends(principal_of)]) -> Caller:
        principal.check(scope, installation=installation)
        return Caller(principal, ctx)

    return caller


Reader = Annotated[Caller, Depends(needs(Scope.READ))]
Writer = Annotated[Caller, Depends(needs(Scope.WRITE))]
Approver = Annotated[Caller, Depends(needs(Scope.APPROVE))]
Operator = Annotated[Caller, Depends(needs(Scope.OPERATE))]
Administrator = Annotated[Caller, Depends(needs(Scope.ADMIN))]
