"""Who sends a request: the principal, and the app as the principal's tenant uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from foja.interfaces.operations import caller as operations
from foja.interfaces.web.access.authentication import grant_of
from foja.interfaces.web.context import Context, WebContext
from foja.pure.models.access.grant import Grant
from foja.pure.models.access.principal import Principal, Scope
from foja.tenant import TenantApp


@dataclass(frozen=True, slots=True)
class Caller:
    """A checked request: who sends it, and what it may use."""

    grant: Grant
    ctx: WebContext

    @property
    def principal(self) -> Principal:
        """Who sends the request."""
        return self.grant.principal

    @property
    def app(self) -> TenantApp:
        """The app as the principal's tenant uses it."""
        return self.ctx.app.tenant(self.principal.tenant)

    @property
    def acting(self) -> operations.Caller:
        """The caller as operations take it."""
        return operations.Caller(self.app, self.principal)

    def author(self, named: str | None) -> str:
        """Return the actor to record, where the request names one or none."""
        return self.principal.author(named)

    async def names(self, actors: Iterable[str | None]) -> dict[str, str]:
        """Return the names of these actors that have one, as this caller may read them."""
        return await self.ctx.app.access.names.shown_to(self.principal, actors)

    def lasting(self) -> AbstractContextManager[asyncio.Event]:
        """Yield an event that is set when the caller's key, token or session ends. For what lasts."""
        return self.ctx.app.access.use(self.grant)


async def caller_of(ctx: Context, grant: Annotated[Grant, Depends(grant_of)]) -> Caller:
    """Return the caller of a request, whatever it may do: a route asks for a scope beside."""
    return Caller(grant, ctx)


AnyCaller = Annotated[Caller, Depends(caller_of)]


async def principal_of(caller: AnyCaller) -> Principal:
    """Return who sends a request."""
    return caller.principal


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
Retrier = Annotated[Caller, Depends(needs(Scope.RETRY))]
Administrator = Annotated[Caller, Depends(needs(Scope.ADMIN))]
