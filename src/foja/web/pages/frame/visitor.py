"""Who looks at a page that anyone may open."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import Depends, Request

from foja.access.model.principal import Principal
from foja.errors import NotAuthenticated
from foja.web.caller import principal_of
from foja.web.context import Context


async def visitor_of(request: Request, ctx: Context) -> Principal | None:
    """Return who sends a request, or None for somebody without a key, a token or a session."""
    with suppress(NotAuthenticated):
        return await principal_of(request, ctx)
    return None


Visitor = Annotated[Principal | None, Depends(visitor_of)]
