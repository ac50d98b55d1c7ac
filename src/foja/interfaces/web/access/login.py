"""`/login` and `/logout`: with a key, or with an OpenID Connect provider, into a session."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from foja.domains.access.provider import Provider
from foja.domains.access.sessions import digest_of
from foja.errors import NotAllowed, NotAuthenticated, UnknownEntity
from foja.interfaces.web.access.cookies import delete_cookie, read_cookie, set_cookie
from foja.interfaces.web.access.forms import check_page, field, read_form
from foja.interfaces.web.context import WebContext, context_of
from foja.interfaces.web.operation import HttpOperation
from foja.interfaces.web.pages.frame.page import Page
from foja.pure.models.access.key import parse_key
from foja.pure.models.access.login import Login, form_token, own_path
from foja.pure.models.access.principal import Principal

CALLBACK = "/login/callback"
SEE_OTHER = 303


async def show(request: Request) -> Response:
    """Show the form; to a person who is logged in, how to log out."""
    ctx = context_of(request)
    path = own_path(request.query_params.get("next"))
    cookie = read_cookie(request, ctx.front, "session")
    if cookie:
        try:
            grant = await ctx.app.access.session(cookie)
        except NotAuthenticated:
            pass
        else:
            token, actor = form_token(cookie), grant.principal.actor
            return Page(request).render("login/logout.html", "login", token=token, actor=actor)
    return _form(request, ctx, path, refused=False)


async def enter(request: Request) -> Response:
    """Log in with a key."""
    ctx = context_of(request)
    secret = _begun(request, ctx).secret
    await check_page(request, ctx.front, secret)
    form = await read_form(request)
    path, text = own_path(field(form, "next")), field(form, "key")
    key = parse_key(text)
    try:
        if key is None:
            raise NotAuthenticated("not a key")
        grant = await ctx.app.access.bearer(text)
    except NotAuthenticated:
        return _form(request, ctx, path, refused=True)
    answer = RedirectResponse(path, SEE_OTHER)
    await _open(request, ctx, answer, grant.principal, key.id)
    return answer


async def start(request: Request) -> Response:
    """Send the browser to the provider."""
    ctx = context_of(request)
    login = Login(secrets.token_urlsafe(32))
    path = own_path(request.query_params.get("next"))
    answer = RedirectResponse(await _provider(ctx).address(login, _callback(request, ctx)), SEE_OTHER)
    set_cookie(answer, request, ctx.front, "login", _pack(login, path))
    return answer


async def callback(request: Request) -> Response:
    """Open the session of a person whom the provider sends back."""
    ctx = context_of(request)
    begun, path = _begun(request, ctx), _path(request, ctx)
    code, state = (request.query_params.get(name, "") for name in ("code", "state"))
    if not code:
        raise NotAuthenticated("the provider refused the login; log in again at /login")
    person = await _provider(ctx).person(begun, code, state, _callback(request, ctx))
    # As a link of this site, the next page is sent with the new cookie.
    answer = Page(request).render("login/continue.html", "login", next=path)
    await _open(request, ctx, answer, person, None)
    return answer


async def leave(request: Request) -> Response:
    """End the session."""
    ctx = context_of(request)
    cookie = read_cookie(request, ctx.front, "session")
    answer = RedirectResponse("/login", SEE_OTHER)
    if cookie:
        await check_page(request, ctx.front, cookie)
        await _end(ctx, cookie)
        delete_cookie(answer, request, ctx.front, "session")
    return answer


def to_login(request: Request) -> Response:
    """Return the answer to a person who opened a page without being logged in."""
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/login?next={quote(own_path(path), safe='/')}", SEE_OTHER)


async def _open(
    request: Request, ctx: WebContext, answer: Response, principal: Principal, key_id: str | None
) -> None:
    """Open a session with a new secret; what the browser had before ends, so none can be planted."""
    if before := read_cookie(request, ctx.front, "session"):
        await _end(ctx, before)
    set_cookie(answer, request, ctx.front, "session", await ctx.app.access.sessions.open(principal, key_id))
    delete_cookie(answer, request, ctx.front, "login")


async def _end(ctx: WebContext, cookie: str) -> None:
    try:
        grant = await ctx.app.access.session(cookie)
        await ctx.app.access.sessions.end(digest_of(cookie), actor=grant.principal.actor)
    except (NotAuthenticated, UnknownEntity):
        return  # it is over, or was never one


def _form(request: Request, ctx: WebContext, path: str, *, refused: bool) -> Response:
    login = Login(secrets.token_urlsafe(32))
    provider = ctx.app.access.provider is not None
    answer = Page(request).render(
        "login/login.html",
        "login",
        status=401 if refused else 200,
        token=form_token(login.secret),
        next=path,
        provider=provider,
        refused=refused,
    )
    set_cookie(answer, request, ctx.front, "login", _pack(login, path))
    return answer


def _begun(request: Request, ctx: WebContext) -> Login:
    """Return the login that this browser began."""
    cookie = read_cookie(request, ctx.front, "login")
    if not cookie:
        raise NotAllowed("this login was not begun in this browser, or took too long; open /login again")
    return Login(cookie.partition(".")[0])


def _path(request: Request, ctx: WebContext) -> str:
    packed = (read_cookie(request, ctx.front, "login") or "").partition(".")[2]
    try:
        return own_path(urlsafe_b64decode(packed).decode())
    except ValueError:
        return "/"


def _pack(login: Login, path: str) -> str:
    return f"{login.secret}.{urlsafe_b64encode(path.encode()).decode()}"


def _provider(ctx: WebContext) -> Provider:
    if ctx.app.access.provider is None:
        raise UnknownEntity("there is no provider (FOJA_OIDC_ISSUER); log in with a key at /login")
    return ctx.app.access.provider


def _callback(request: Request, ctx: WebContext) -> str:
    return ctx.front.origin(request) + CALLBACK


OPERATIONS = (
    HttpOperation("login.show", "GET /login", show, None, described=False),
    HttpOperation("login.enter", "POST /login", enter, None, described=False),
    HttpOperation("login.start", "GET /login/start", start, None, described=False),
    HttpOperation("login.callback", f"GET {CALLBACK}", callback, None, described=False),
    HttpOperation("login.leave", "POST /logout", leave, None, described=False),
)
