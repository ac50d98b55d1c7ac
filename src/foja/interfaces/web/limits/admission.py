"""The dependency that counts a request before its route is called."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from foja.interfaces.web.caller import principal_of
from foja.interfaces.web.context import Context
from foja.pure.models.access.principal import Principal


async def admit(ctx: Context, principal: Annotated[Principal, Depends(principal_of)]) -> None:
    """Count a request of a principal; raise `Rejected` (429) if there are too many."""
    await ctx.rate.admit(principal)
