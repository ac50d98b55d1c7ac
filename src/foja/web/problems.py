"""Errors as problem documents (RFC 9457): what was refused, why, and what to do next."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from foja import errors

MEDIA_TYPE = "application/problem+json"
HEADERS = {503: {"Retry-After": "1"}, 401: {"WWW-Authenticate": 'Bearer realm="foja"'}}
# The first match applies; any other error is a fault of the server (500).
STATUSES: tuple[tuple[type[errors.FojaError], int], ...] = (
    (errors.TooLarge, 413),
    (errors.NotCanonical, 400),
    (errors.UnknownEntity, 404),
    (errors.UnknownDomain, 404),
    (errors.NotAuthenticated, 401),
    (errors.NotAllowed, 403),
    (errors.WrongSource, 403),
    (errors.WrongSupplier, 403),
    (errors.SlotVoided, 410),
    (errors.CursorLost, 410),
    (errors.ProductDeleted, 410),
    (errors.WrongEntity, 409),
    (errors.WrongExpectedSeq, 409),
    (errors.IdempotencyConflict, 409),
    (errors.SlotFilled, 409),
    (errors.GalleryFull, 409),
    (errors.NotErasable, 409),
    (errors.Refused, 422),
    (errors.Unavailable, 503),
)
ADVICE = {
    404: "this address does not exist; /docs lists those that do",
    405: "this address does not accept that method; see /docs",
}
log = logging.getLogger("foja.web")


class Rejected(Exception):
    """A request that was refused before it reached the ledger."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.title = status, title


def problem(
    status: int, title: str, detail: str, *, name: str | None = None, code: str | None = None
) -> Response:
    """Return a problem document; `name` and `code` are those of a `FojaError`."""
    body: dict[str, Any] = {
        "type": f"urn:foja:{name}" if name else "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
    }
    if name:
        body |= {"error": name, "code": code}
    headers = HEADERS.get(status, {})
    return JSONResponse(body, status, headers, MEDIA_TYPE)


def problem_of(error: errors.FojaError) -> Response:
    """Return the problem document of an error."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    if status == 500:
        log.error("%s: %s", type(error).__name__, error)
    title = (type(error).__doc__ or "").partition("\n")[0]
    return problem(status, title, str(error), name=type(error).__name__, code=error.code)


def add_problems(web: FastAPI, to_login: Callable[[Request], Response] | None = None) -> None:
    """Register handlers that turn every error into a problem document; a person is sent to the login."""

    @web.exception_handler(errors.FojaError)
    async def refused(request: Request, error: errors.FojaError) -> Response:
        if isinstance(error, errors.NotAuthenticated) and to_login and _is_page(request):
            return to_login(request)
        return problem_of(error)

    @web.exception_handler(Rejected)
    async def rejected(_: Request, error: Rejected) -> Response:
        return problem(error.status, error.title, str(error))

    @web.exception_handler(ClientDisconnect)
    async def left(_: Request, error: ClientDisconnect) -> Response:
        log.debug("a client left before its request was complete")
        return problem(400, "The request is incomplete.", "send the whole body")

    @web.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        return problem(
            error.status_code, str(error.detail), ADVICE.get(error.status_code, "see /openapi.json")
        )

    @web.exception_handler(RequestValidationError)
    async def parameters(_: Request, error: RequestValidationError) -> Response:
        return problem(422, "A parameter is not valid.", describe_errors(error.errors()))

    @web.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> Response:
        return problem(500, "The server failed.", "see the log of the server; try again later")


def _is_page(request: Request) -> bool:
    """Return whether a browser asks for a page, rather than a program for an answer."""
    wanted, path = request.headers.get("accept", ""), request.url.path
    return request.method == "GET" and "text/html" in wanted and not path.startswith(("/v1/", "/login"))


def describe_errors(found: Any) -> str:
    """Return pydantic's errors as text, without the values that were sent."""
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'the body'}: {each['msg'].lower()}" for each in found
    )
