"""`/access`: keys, sessions and webhooks of the tenant, what was done about them, and who you are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from foja.engine.observe.acts import Act, read_acts
from foja.errors import Refused
from foja.interfaces.web.pages.frame.forms import act, form, read_form
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.pure.models.access.principal import Scope
from foja.pure.models.access.view import NewKey

LIST_LIMIT: Final = 100
ACTS: Final = 20


async def show(page: Page) -> Response:
    """Show keys, sessions and webhooks."""
    return await _page(page, None)


async def _page(page: Page, made: NewKey | None) -> Response:
    caller, access = page.caller, page.installation.access
    tenant = None if caller.principal.installation else caller.principal.tenant  # None: of all
    keys = await access.keys.list(tenant=tenant, limit=LIST_LIMIT)
    sessions = await access.sessions.list(tenant=tenant, limit=LIST_LIMIT)
    acts = await _acts(page)
    made_by = [each.created_by for each in keys]
    actors = [*made_by, *(each.actor for each in sessions), *(each.actor for each in acts)]
    return page.render(
        "system/access.html",
        "access",
        scopes=[*Scope],
        keys=keys,
        sessions=sessions,
        webhooks=await caller.app.webhooks.list(),
        acts=acts,
        names=await caller.names(actors),
        credential=caller.credential,
        made=made,
    )


async def _acts(page: Page) -> Sequence[Act]:
    principal, reader = page.caller.principal, page.installation.reader
    return await read_acts(reader, principal.tenant, installation=principal.installation, limit=ACTS)


async def create(page: Page) -> Response:
    """Make a key of the caller's tenant, and show its text: here, once, and nowhere else."""
    scopes = (await read_form(page.request)).getlist("scopes")
    if not scopes:
        raise Refused("a key needs at least one scope; choose what it may do")
    if Scope.ADMIN not in scopes and not await page.installation.access.required():
        raise Refused(
            "the first key needs the scope `admin`: from then on, nobody is administrator without one"
        )
    return await _page(page, await act(page, "access.create_key"))


ADMIN = Scope.ADMIN
PAGES = (
    PageRoute("GET /access", show, ADMIN),
    PageRoute("POST /access/keys", create, ADMIN),
    form("/access/keys/{key_id}/revoke", "access.revoke_key", "/access"),
    form("/access/sessions/{session_id}/revoke", "access.revoke_session", "/access"),
)
