"""Find out who sends a request: a key or token in `Authorization`, a session, or the local user."""

from __future__ import annotations

from starlette.requests import Request

from foja.errors import NotAuthenticated
from foja.interfaces.web.access.cookies import read_cookie
from foja.interfaces.web.access.forms import check_page
from foja.interfaces.web.context import context_of
from foja.pure.models.access.grant import Grant

MAX_CREDENTIAL = 16_384


async def grant_of(request: Request) -> Grant:
    """Return what a request may do, or raise `NotAuthenticated` or `NotAllowed`."""
    ctx = context_of(request)
    access, health = ctx.app.access, ctx.app.health
    if not health.database.ok:
        await health.check_database()  # else each statement would wait for longer
    if (header := request.headers.get("authorization")) is not None:
        scheme, _, text = header.partition(" ")
        if scheme.lower() != "bearer" or not 0 < len(text) <= MAX_CREDENTIAL:
            raise NotAuthenticated("only `Authorization: Bearer KEY` is accepted; send a key or a token so")
        return await access.bearer(text.strip())
    if not await access.required():
        ctx.front.check_local(request)
        return access.local()
    cookie = read_cookie(request, ctx.front, "session")
    if not cookie:
        raise NotAuthenticated("log in at /login, or send `Authorization: Bearer KEY`")
    grant = await access.session(cookie)
    await check_page(request, ctx.front, cookie)
    return grant
