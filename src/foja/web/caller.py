"""Who sends a request: the principal, and the app as the principal's tenant uses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from foja.access.model.principal import ALL, Principal, Scope
from foja.app import App
from foja.web.context import Context, WebContext

LOCAL = "local"  # the user of this machine, while there are no keys


@dataclass(frozen=True, slots=True)
class Caller:
    """A checked request: who sends it, and what it may use."""

    principal: Principal
    ctx: WebContext

    @property
    def app(self) -> App:
        """The app as the principal's tenant uses it."""
        return self.ctx.app

    def actor(self, stated: str | None) -> str | None:
        """Return the actor of an event: the one that the request states, else the principal."""
        return stated if stated is not None or self.principal.actor == LOCAL else self.principal.actor


async def principal_of(request: Request, ctx: Context) -> Principal:
    """Return who sends a request. Without keys, the local user is the administrator."""
    return Principal(ctx.app.settings.own_tenant, LOCAL, ALL, installation=True)


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
