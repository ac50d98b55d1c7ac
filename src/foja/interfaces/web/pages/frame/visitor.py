"""Who looks at a page that anyone may open."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import Depends, Request

from foja.errors import NotAllowed, NotAuthenticated
from foja.interfaces.web.access.authentication import grant_of
from foja.interfaces.web.context import Context
from foja.pure.models.access.principal import Principal


async def visitor_of(request: Request, ctx: Context) -> Principal | None:
    """Return who sends a request, or None without a valid key, token or session."""
    with suppress(NotAuthenticated, NotAllowed):
        return (await grant_of(request, ctx)).principal
    return None


Visitor = Annotated[Principal | None, Depends(visitor_of)]
