"""`/access`: keys, sessions and webhooks of the tenant, what was done about them, and who you are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from fastapi import Request, Response

from foja.engine.observe.acts import Act, read_acts
from foja.errors import Refused
from foja.interfaces.web.caller import Administrator, Caller
from foja.interfaces.web.pages.frame.errors import page_router
from foja.interfaces.web.pages.frame.forms import field, read_form, see_other
from foja.interfaces.web.pages.frame.page import Page, Requested
from foja.interfaces.web.pages.texts.system.access import TEXTS
from foja.pure.models.access.key import LIFETIME, ApiKey, parse_end
from foja.pure.models.access.principal import Scope

LIST_LIMIT: Final = 100
ACTS: Final = 20
routes = page_router(prefix="/access")


@routes.get("")
async def show(caller: Administrator, page: Requested) -> Response:
    """Show keys, sessions and webhooks."""
    return await _page(caller, page, None)


async def _page(caller: Caller, page: Page, made: ApiKey | None) -> Response:
    access, tenant = caller.ctx.app.access, _tenant(caller)
    keys = await access.keys.list(tenant=tenant, limit=LIST_LIMIT)
    sessions = await access.sessions.list(tenant=tenant, limit=LIST_LIMIT)
    acts = await _acts(caller)
    made_by = [each.created_by for each in keys]
    actors = [*made_by, *(each.actor for each in sessions), *(each.actor for each in acts)]
    return page.render(
        "system/access.html",
        TEXTS,
        principal=caller.principal,
        scopes=[*Scope],
        keys=keys,
        sessions=sessions,
        webhooks=await caller.app.webhooks.list(),
        acts=acts,
        names=await caller.names(actors),
        credential=caller.grant.credential,
        made=made,
    )


async def _acts(caller: Caller) -> Sequence[Act]:
    principal = caller.principal
    return await read_acts(
        caller.ctx.app.reader, principal.tenant, installation=principal.installation, limit=ACTS
    )


@routes.post("/keys")
async def create(caller: Administrator, page: Requested, request: Request) -> Response:
    """Make a key of the caller's tenant, and show its text: here, once, and nowhere else."""
    form = await read_form(request)
    scopes = [str(each) for each in form.getlist("scope")]
    if not scopes:
        raise Refused("a key needs at least one scope; choose what it may do")
    access, principal = caller.ctx.app.access, caller.principal
    if Scope.ADMIN not in scopes and not await access.required():
        raise Refused(
            "the first key needs the scope `admin`: from then on, nobody is administrator without one"
        )
    whole = field(form, "installation") == "yes"
    principal.check(Scope.ADMIN, installation=whole)
    made = await access.keys.create(
        principal.tenant,
        scopes,
        name=field(form, "name"),
        installation=whole,
        expires_at=parse_end(LIFETIME, datetime.now(UTC)),
        actor=principal.actor,
    )
    return await _page(caller, page, made)


@routes.post("/keys/{key_id}/revoke")
async def revoke(caller: Administrator, request: Request, key_id: str) -> Response:
    """Revoke a key; its sessions end with it."""
    await read_form(request)
    actor = caller.principal.actor
    await caller.ctx.app.access.keys.of(_tenant(caller)).revoke(key_id, actor=actor)
    return see_other("/access")


@routes.post("/sessions/{session_id}/revoke")
async def end_session(caller: Administrator, request: Request, session_id: UUID) -> Response:
    """End a session."""
    await read_form(request)
    actor = caller.principal.actor
    await caller.ctx.app.access.sessions.of(_tenant(caller)).revoke(session_id, actor=actor)
    return see_other("/access")


def _tenant(caller: Caller) -> str | None:
    """Return the tenant whose keys a caller may see; None: all."""
    return None if caller.principal.installation else caller.principal.tenant
