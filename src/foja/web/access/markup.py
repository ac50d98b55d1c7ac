"""The pages of the login, in English and Spanish: forms without scripts."""

from __future__ import annotations

from html import escape

from fastapi import Response

POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
TEXTS = {
    "login": ("Log in", "Iniciar sesión"),
    "key": ("Access key", "Clave de acceso"),
    "provider": ("Log in with your organisation", "Iniciar sesión con su organización"),
    "logout": ("Log out", "Cerrar sesión"),
    "who": ("You are logged in as", "Ha iniciado sesión como"),
    "continue": ("Continue", "Continuar"),
    "refused": (
        "The login was refused. Check the key, or ask an administrator for one.",
        "Se rechazó el inicio de sesión. Revise la clave o pida una a un administrador.",
    ),
}
LANGUAGES = ("en", "es")


def text(language: str, name: str) -> str:
    """Return a text in a language."""
    return TEXTS[name][LANGUAGES.index(language)]


def login_page(language: str, token: str, path: str, *, provider: bool, refused: bool) -> Response:
    """Return the form for a key, and the link to the provider if there is one."""
    link = f"/login/start?next={escape(path)}"
    parts = [
        f'<p role="alert">{text(language, "refused")}</p>' if refused else "",
        f'<p><a href="{link}">{text(language, "provider")}</a></p>' if provider else "",
        '<form method="post" action="/login">',
        _hidden("form_token", token),
        _hidden("next", path),
        f'<p><label for="key">{text(language, "key")}</label> ',
        '<input id="key" name="key" type="password" autocomplete="current-password" required autofocus></p>',
        f'<p><button type="submit">{text(language, "login")}</button></p></form>',
    ]
    return page(language, text(language, "login"), "".join(parts), 401 if refused else 200)


def logout_page(language: str, token: str, actor: str) -> Response:
    """Return who is logged in, and the form that ends the session."""
    body = (
        f"<p>{text(language, 'who')} <b>{escape(actor)}</b></p>"
        f'<form method="post" action="/logout">{_hidden("form_token", token)}'
        f'<p><button type="submit">{text(language, "logout")}</button> '
        f'<a href="/">{text(language, "continue")}</a></p></form>'
    )
    return page(language, text(language, "logout"), body)


def continue_page(language: str, path: str) -> Response:
    """Return a page that goes on by itself: as a link of this site, it is sent with the new cookie."""
    to = escape(path)
    body = f'<p><a href="{to}">{text(language, "continue")}</a></p>'
    head = f'<meta http-equiv="refresh" content="0; url={to}">'
    return page(language, text(language, "continue"), body, head=head)


def page(language: str, title: str, body: str, status: int = 200, *, head: str = "") -> Response:
    """Return a page. `body` and `head` are markup: escape what others wrote."""
    document = (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}'
        f'<title>{title}</title><link rel="stylesheet" href="/static/page.css"></head>'
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    )
    headers = {
        "Content-Security-Policy": POLICY,
        "Cache-Control": "no-store",
        "Vary": "Accept-Language, Cookie",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(document, status, headers, "text/html; charset=utf-8")


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'
