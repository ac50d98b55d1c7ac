"""A page from its template: escaped, strict about names, sent with a policy that allows no inline script."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from foja.app import App
from foja.interfaces.web.access.cookies import read_cookie
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.context import context_of
from foja.interfaces.web.pages.frame import times
from foja.interfaces.web.pages.frame.language import COOKIE, LANGUAGES, Texts, language_of
from foja.interfaces.web.pages.frame.navigation import GROUPS, is_current
from foja.interfaces.web.pages.frame.static import static_url
from foja.pure.models.access.login import form_token
from foja.pure.models.access.principal import Scope
from foja.pure.quotation import quoted

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Vary": "Accept-Language, Cookie",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_CODE: Final = re.compile("`([^`]+)`")
_A_YEAR: Final = 366 * 86_400


def mark_code(text: str) -> Markup:
    """Return a text as markup, with what is between backticks marked as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 (escaped before)


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("foja.interfaces.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(static=static_url, groups=GROUPS, is_current=is_current, Scope=Scope)
    made.filters.update(
        code=mark_code,
        moment=times.moment,
        span=times.span,
        size=times.size,
        number=times.number,
        quoted=quoted,
    )
    return made


ENVIRONMENT: Final = _environment()


@dataclass(frozen=True, slots=True)
class Page:
    """A requested page: its address, and who asks for it."""

    request: Request
    visitor: Caller | None = None  # None: without a valid key, token or session

    @property
    def language(self) -> str:
        """The language of the page."""
        return language_of(self.request)

    @property
    def caller(self) -> Caller:
        """Who asks for a page that only some may open."""
        assert self.visitor is not None
        return self.visitor

    @property
    def installation(self) -> App:
        """The app of the whole installation."""
        return context_of(self.request).app

    def texts(self, *places: str) -> Texts:
        """Return the texts of these places, and those that all pages share."""
        return Texts(self.language, "shared", *places)

    def render(self, template: str, *places: str, status: int = 200, **values: Any) -> Response:
        """Return a page from its template, with the texts of these places as `t`."""
        principal = self.visitor.principal if self.visitor else None
        text = ENVIRONMENT.get_template(template).render(
            t=self.texts(*places),
            language=self.language,
            others=[(each, self.address(lang=each)) for each in LANGUAGES if each != self.language],
            path=self.request.url.path,
            principal=principal,
            may=principal.may if principal else _may_nothing,
            now=datetime.now(UTC),
            address=self.address,
            notice=self.request.query_params.get("notice"),
            form_token=self._form_token(),
            **values,
        )
        answer = Response(text, status, HEADERS, "text/html; charset=utf-8")
        if self.request.query_params.get("lang") in LANGUAGES:
            answer.set_cookie(COOKIE, self.language, max_age=_A_YEAR, httponly=True, samesite="lax")
        return answer

    def _form_token(self) -> str:
        """Return the token that the forms of this session need; empty without a session."""
        if self.visitor is None or self.visitor.credential != "session":
            return ""
        cookie = read_cookie(self.request, self.visitor.ctx.front, "session")
        return form_token(cookie) if cookie else ""

    def address(self, **changes: object) -> str:
        """Return the address of this page with other parameters; None removes one."""
        kept = {**self.request.query_params, **changes}
        query = urlencode({name: value for name, value in kept.items() if value not in (None, "")})
        return f"{self.request.url.path}?{query}" if query else self.request.url.path


def _may_nothing(scope: Scope) -> bool:
    return False
