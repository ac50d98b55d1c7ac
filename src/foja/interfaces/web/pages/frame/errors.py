"""Errors of pages as pages: what was refused, why, and what to do next."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from foja import errors
from foja.interfaces.answers.problem import STATUSES
from foja.interfaces.web.caller import visitor_of
from foja.interfaces.web.context import context_of
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.health import PartRow, part_rows
from foja.interfaces.web.problems import Rejected

log = logging.getLogger("foja.web")


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
        if context_of(request).app.health.database.ok:
            visitor = await visitor_of(request)
    page = Page(request, visitor)
    answer = page.render(
        "error.html",
        "overview",
        status=status,
        title=title,
        detail=detail,
        code=status,
        unknown=isinstance(error, HTTPException) and status == 404,
        health=_health(page, error),
    )
    answer.headers.update(headers)
    return answer


def _health(page: Page, error: Exception) -> list[PartRow]:
    """Return how the database does, which no other page can say while it does not answer.

    Nobody is known meanwhile, so the words of its error, which name servers, are left out.
    """
    database = page.installation.health.database
    if not isinstance(error, errors.LedgerUnavailable) or database.ok:
        return []
    rows = part_rows([database], page.texts("overview"), page.language, words=True)
    return [replace(row, error="") for row in rows]


def _describe(error: Exception) -> tuple[int, str]:
    if isinstance(error, errors.FojaError):
        status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
        return status, error.public or str(error)
    if isinstance(error, Rejected):
        return error.status, str(error)
    assert isinstance(error, HTTPException)
    return error.status_code, str(error.detail)
