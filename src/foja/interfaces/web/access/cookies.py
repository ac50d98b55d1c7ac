"""The two cookies: of a session, and of a login that has begun."""

from __future__ import annotations

from typing import Literal, TypeAlias

from starlette.requests import HTTPConnection
from starlette.responses import Response

from foja.interfaces.web.access.front import LOCAL_NAMES, Front, host_name
from foja.interfaces.web.problems import Rejected

Name: TypeAlias = Literal["session", "login"]
LOGIN_SECONDS = 600
# A login comes back from the provider, another site: its cookie must come along with that link.
_SAME_SITE: dict[Name, Literal["lax", "strict"]] = {"session": "strict", "login": "lax"}


def read_cookie(request: HTTPConnection, front: Front, name: Name) -> str | None:
    """Return the value of a cookie, if it was set over the same sort of connection."""
    return request.cookies.get(_name(request, front, name))


def set_cookie(response: Response, request: HTTPConnection, front: Front, name: Name, value: str) -> None:
    """Set a cookie that scripts cannot read and other sites do not send."""
    secure = front.is_secure(request)
    if not secure and host_name(request) not in LOCAL_NAMES:
        advice = "use https://, set FOJA_WEB_URL, or name your proxy in FOJA_TRUSTED_PROXIES"
        raise Rejected(403, "A login needs HTTPS.", advice)
    response.set_cookie(
        _name(request, front, name),
        value,
        max_age=LOGIN_SECONDS if name == "login" else None,
        path="/",
        secure=secure,
        httponly=True,
        samesite=_SAME_SITE[name],
    )


def delete_cookie(response: Response, request: HTTPConnection, front: Front, name: Name) -> None:
    """Let the browser forget a cookie."""
    response.delete_cookie(
        _name(request, front, name),
        path="/",
        secure=front.is_secure(request),
        httponly=True,
        samesite=_SAME_SITE[name],
    )


def _name(request: HTTPConnection, front: Front, name: Name) -> str:
    """Return a name that only this host can set, over HTTPS; plain HTTP on this machine has no such name."""
    return f"__Host-foja-{name}" if front.is_secure(request) else f"foja-{name}"
