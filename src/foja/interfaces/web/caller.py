"""Who sends a request, as acts and pages take it."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

from starlette.requests import Request

from foja.errors import NotAllowed, NotAuthenticated
from foja.interfaces.operations import caller as operations
from foja.interfaces.web.access.authentication import grant_of
from foja.interfaces.web.context import WebContext, context_of
from foja.pure.models.access.grant import Grant

KEY = "Idempotency-Key"


@dataclass(frozen=True, slots=True)
class Caller(operations.Caller):
    """The caller of an act over HTTP, with the request itself."""

    http: Request = field(kw_only=True)
    grant: Grant = field(kw_only=True)

    @property
    def ctx(self) -> WebContext:
        """The context of the application that received the request."""
        return context_of(self.http)

    def lasting(self) -> AbstractContextManager[asyncio.Event]:
        """Yield an event that is set when the caller's key, token or session ends. For what lasts."""
        return self.ctx.app.access.use(self.grant)


async def caller_of(request: Request, *, installation: bool = False) -> Caller:
    """Return who sends a request, with the app of their tenant, or that of the whole installation."""
    app, grant = context_of(request).app, await grant_of(request)
    return Caller(
        app if installation else app.tenant(grant.principal.tenant),
        grant.principal,
        request.headers.get(KEY),
        request.url.path,
        grant.credential,
        http=request,
        grant=grant,
    )


def http_caller(caller: operations.Caller) -> Caller:
    """Return the caller of an act that HTTP alone has."""
    assert isinstance(caller, Caller)
    return caller


async def visitor_of(request: Request) -> Caller | None:
    """Return who sends a request, or None without a valid key, token or session."""
    with suppress(NotAuthenticated, NotAllowed):
        return await caller_of(request)
    return None
