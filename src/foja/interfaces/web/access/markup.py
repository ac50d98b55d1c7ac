"""The pages of the login, in English and Spanish: forms without scripts."""

from __future__ import annotations

from fastapi import Request, Response

from foja.interfaces.web.pages.frame.language import language_of
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.texts.login import TEXTS


def login_page(request: Request, token: str, path: str, *, provider: bool, refused: bool) -> Response:
    """Return the form for a key, and the link to the provider if there is one."""
    return _page(request).render(
        "login/login.html",
        TEXTS,
        status=401 if refused else 200,
        token=token,
        next=path,
        provider=provider,
        refused=refused,
    )


def logout_page(request: Request, token: str, actor: str) -> Response:
    """Return who is logged in, and the form that ends the session."""
    return _page(request).render("login/logout.html", TEXTS, token=token, actor=actor)


def continue_page(request: Request, path: str) -> Response:
    """Return a page that goes on by itself: as a link of this site, it is sent with the new cookie."""
    return _page(request).render("login/continue.html", TEXTS, next=path)


def _page(request: Request) -> Page:
    return Page(request, language_of(request))
