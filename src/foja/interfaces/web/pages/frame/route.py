"""The route of a page. Downloads and forms are such routes, too: their errors are pages."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from foja import errors
from foja.interfaces.web.binding import BoundRoute
from foja.interfaces.web.caller import caller_of, visitor_of
from foja.interfaces.web.operation import HttpOperation
from foja.interfaces.web.pages.frame.errors import error_page
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.problems import Rejected
from foja.pure.models.access.principal import Scope

log = logging.getLogger("foja.web")
_FAULT: Final = "see the log of the server; try again later"


class PageRoute(BoundRoute):
    """A route that gives a function the page, and answers errors with a page."""

    def __init__(
        self,
        address: str,
        show: Callable[..., Awaitable[Response]],
        scope: Scope = Scope.READ,
        *,
        installation: bool = False,
        anyone: bool = False,
    ) -> None:
        """A page for anyone knows who looks at it, if it can be known."""
        self.anyone = anyone
        super().__init__(
            HttpOperation(address, address, show, scope, installation=installation, described=False)
        )

    async def answer(self, request: Request) -> Response:
        """Answer a request with a page, or with the page of an error."""
        try:
            return await self._show(request)
        except (errors.NotAuthenticated, ClientDisconnect):
            raise  # the application sends a person to the login, and nothing to a client that left
        except (errors.FojaError, HTTPException, Rejected) as error:
            return await error_page(request, error)
        except Exception:  # a fault of ours: its text is for the log only
            log.exception("a page failed: %s", request.url.path)
            return await error_page(request, HTTPException(500, _FAULT))
        finally:
            await request.close()  # the files of a form

    async def _show(self, request: Request) -> Response:
        page = Page(request, await (visitor_of if self.anyone else caller_of)(request))
        if not self.anyone:
            self.operation.check(page.caller.principal)
        response: Response = await self.operation.run(page, **self.given(request))
        return response
