"""Errors of pages as pages: what was refused, why, and what to do next."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from foja import errors
from foja.interfaces.answers.problem import STATUSES
from foja.interfaces.web.pages.frame.language import language_of
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.visitor import visitor_of
from foja.interfaces.web.pages.health import PartRow, part_rows
from foja.interfaces.web.pages.texts.overview import TEXTS as OVERVIEW
from foja.interfaces.web.problems import Rejected, describe_errors

log = logging.getLogger("foja.web")
_FAULT = "see the log of the server; try again later"
HANDLED = (errors.FojaError, HTTPException, RequestValidationError, Rejected)


class PageRoute(APIRoute):
    """A route that answers errors with a page. Downloads and forms are such routes, too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with errors caught."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except (errors.NotAuthenticated, ClientDisconnect):
                raise  # the application sends a person to the login, and nothing to a client that left
            except HANDLED as error:
                return await error_page(request, error)
            except Exception:  # a fault of ours: its text is for the log only
                log.exception("a page failed: %s", request.url.path)
                return await error_page(request, HTTPException(500, _FAULT))
            finally:
                await request.close()  # the files of a form

        return answer


def page_router(**values: Any) -> APIRouter:
    """Return a router for pages."""
    return APIRouter(include_in_schema=False, route_class=PageRoute, **values)


async def error_page(request: Request, error: Exception) -> Response:
    """Return the page of an error, with the status that a program would get."""
    status, detail = _describe(error)
    if status >= 500 and not isinstance(error, (errors.Unavailable, HTTPException)):
        log.error("%s: %s", type(error).__name__, error)
    title = {401: "error_401", 403: "error_403", 404: "error_404", 413: "error_413", 503: "error_503"}.get(
        status
    )
    if title is None:
        title = "error_refused" if status < 500 else "error_500"
    headers = {"Retry-After": "1"} if status == 503 else {}
    visitor = None
    with suppress(errors.FojaError):  # the error may be the reason why the visitor is unknown
        ctx = request.app.state.ctx
        visitor = await visitor_of(request, ctx) if ctx.app.health.database.ok else None
    page = Page(request, language_of(request))
    answer = page.render(
        "error.html",
        OVERVIEW,
        principal=visitor,
        status=status,
        title=title,
        detail=detail,
        code=status,
        unknown=isinstance(error, HTTPException) and status == 404,
        health=_health(request, page, error),
    )
    answer.headers.update(headers)
    return answer


def _health(request: Request, page: Page, error: Exception) -> list[PartRow]:
    """Return how the database does, which no other page can say while it does not answer.

    Nobody is known meanwhile, so the words of its error, which name servers, are left out.
    """
    database = request.app.state.ctx.app.health.database
    if not isinstance(error, errors.LedgerUnavailable) or database.ok:
        return []
    rows = part_rows([database], page.texts(OVERVIEW), page.language, words=True)
    return [replace(row, error="") for row in rows]


def _describe(error: Exception) -> tuple[int, str]:
    if isinstance(error, errors.FojaError):
        status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
        return status, error.public or str(error)
    if isinstance(error, Rejected):
        return error.status, str(error)
    if isinstance(error, RequestValidationError):
        return 422, describe_errors(error.errors())
    assert isinstance(error, HTTPException)
    return error.status_code, str(error.detail)
