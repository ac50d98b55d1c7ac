"""Errors as problem documents (RFC 9457): what was refused, why, and what to do next."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from math import ceil
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from foja import errors
from foja.interfaces.answers.problem import problem_from
from foja.interfaces.web.transfer.encoder import JsonAnswer

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1.0
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="foja"'}
ADVICE = {
    404: "this address does not exist; /docs lists those that do",
    405: "this address does not accept that method; see /docs",
}
log = logging.getLogger("foja.web")


class Rejected(Exception):
    """A request that was refused before it reached the ledger."""

    def __init__(self, status: int, title: str, detail: str, *, retry_after: float | None = None) -> None:
        """`retry_after` says in how many seconds the same request may be accepted."""
        super().__init__(detail)
        self.status, self.title, self.retry_after = status, title, retry_after


def problem(status: int, title: str, detail: str, *, retry_after: float | None = None) -> Response:
    """Return the problem document of a refusal that is not a `FojaError`."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return _answer(body, retry_after)


def rejection(error: Rejected) -> Response:
    """Return the problem document of a refused request."""
    return problem(error.status, error.title, str(error), retry_after=error.retry_after)


def incomplete() -> Response:
    """Return the answer to a client that left before its request was complete."""
    log.debug("a client left before its request was complete")
    return problem(400, "The request is incomplete.", "send the whole body")


def failed() -> Response:
    """Return the answer to a request on which the server failed."""
    return problem(500, "The server failed.", "see the log of the server; try again later")


def problem_of(error: errors.FojaError) -> Response:
    """Return the problem document of an error."""
    return _answer(describe_problem(error), RETRY_SECONDS if error.retryable else None)


def describe_problem(error: errors.FojaError) -> dict[str, Any]:
    """Return an error as the object of a problem document."""
    found = problem_from(error)
    if found.status == 500:
        log.error("%s: %s", found.error, error)
    return asdict(found)


def _answer(body: dict[str, Any], retry_after: float | None = None) -> Response:
    seconds = RETRY_SECONDS if body["status"] == 503 else retry_after
    headers = dict(CHALLENGE) if body["status"] == 401 else {}
    if seconds is not None:
        headers["Retry-After"] = str(max(1, ceil(seconds)))
    return JsonAnswer(body, body["status"], headers, MEDIA_TYPE)


def add_problems(
    web: Starlette,
    to_login: Callable[[Request], Response] | None = None,
    to_page: Callable[[Request, Exception], Awaitable[Response]] | None = None,
) -> None:
    """Register handlers that turn every error into a problem document, or into a page for a person."""

    async def answer(request: Request, error: Exception) -> Response:
        match error:
            case errors.NotAuthenticated() if to_login and _is_page(request):
                return to_login(request)
            case errors.FojaError():
                return problem_of(error)
            case Rejected():
                return rejection(error)
            case ClientDisconnect():
                return incomplete()
            case HTTPException() if to_page and _is_shown(request):
                return await to_page(request, error)
            case HTTPException():
                return _http_problem(web, request, error)
        return failed()

    for kind in (errors.FojaError, Rejected, ClientDisconnect, HTTPException, Exception):
        web.add_exception_handler(kind, answer)


def _http_problem(web: Starlette, request: Request, error: HTTPException) -> Response:
    advice = ADVICE.get(error.status_code, "see /openapi.json")
    answer = problem(error.status_code, str(error.detail), advice)
    answer.headers.update(error.headers or {})
    if error.status_code == 405:
        answer.headers["Allow"] = _allowed(web, request)
    return answer


def _is_shown(request: Request) -> bool:
    """Return whether a browser asks, which shows a page to a person."""
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


def _is_page(request: Request) -> bool:
    """Return whether a browser asks for a page, rather than a program for an answer."""
    return _is_shown(request) and not request.url.path.startswith(("/v1/", "/login"))


def _allowed(web: Starlette, request: Request) -> str:
    """Return the methods of an address: those of the routes that match it with the fewest names in it."""
    found = [route for route in web.router.routes if route.matches(request.scope)[0] is not Match.NONE]
    fewest = min((_named(route) for route in found), default=0)
    found = [route for route in found if _named(route) == fewest]
    return ", ".join(sorted({method for route in found for method in getattr(route, "methods", None) or ()}))


def _named(route: BaseRoute) -> int:
    """Return how many parts of its path a route takes as names."""
    return len(getattr(route, "param_convertors", ()))


def describe_errors(found: Any) -> str:
    """Return pydantic's errors as text, without the values that were sent."""
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'the body'}: {each['msg'].lower()}" for each in found
    )
