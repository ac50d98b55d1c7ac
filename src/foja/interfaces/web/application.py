"""The ASGI application: routes, error handlers and the check of the host name."""

from __future__ import annotations

from functools import cache

from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from foja.engine.health.service import ANSWER_SECONDS, outage
from foja.engine.tasks import within
from foja.errors import Unavailable
from foja.extras import is_installed
from foja.interfaces.operations import OPERATIONS
from foja.interfaces.web.access import login
from foja.interfaces.web.access.cors import shared
from foja.interfaces.web.access.front import LOCAL_NAMES, host_name
from foja.interfaces.web.binding import BoundRoute, OperationRoute
from foja.interfaces.web.context import WebContext
from foja.interfaces.web.documents import additions, evidence
from foja.interfaces.web.endpoints.optional import OPTIONAL, optional_operations
from foja.interfaces.web.galleries import routes as galleries
from foja.interfaces.web.galleries import variants
from foja.interfaces.web.log import files as log_files
from foja.interfaces.web.log import routes as log
from foja.interfaces.web.pages.frame import static
from foja.interfaces.web.pages.frame.errors import error_page
from foja.interfaces.web.pages.routes import PAGES
from foja.interfaces.web.probes import routes as probes
from foja.interfaces.web.problems import add_problems, problem, problem_of
from foja.interfaces.web.reference import openapi
from foja.interfaces.web.streams import routes as streams
from foja.interfaces.web.uploads import routes as uploads
from foja.interfaces.web.verify import routes as verify

API = (
    *OPERATIONS,
    *(each for module in (additions, evidence, streams, galleries, variants) for each in module.OPERATIONS),
    *(each for module in (verify, uploads, log) for each in module.OPERATIONS),
)
PROBES = [BoundRoute(each) for each in probes.OPERATIONS]
# A request is compared with each route in turn. All applications of a process share them.
ROUTES = (
    *(OperationRoute(each) for each in API),
    *(BoundRoute(each) for each in (*log_files.OPERATIONS, *openapi.OPERATIONS)),
    *(BoundRoute(each) for each in (*static.OPERATIONS, *login.OPERATIONS)),
    *PAGES,
    *PROBES,
)


def create_application(ctx: WebContext) -> ASGIApp:
    """Return the application; while there are no keys, it accepts only local host names."""
    web = Starlette(routes=[*ROUTES, *_optional(frozenset(filter(is_installed, OPTIONAL)))])
    web.state.ctx = ctx
    add_problems(web, login.to_login, error_page)
    return shared(LocalNames(web, ctx), ctx.front)


@cache
def _optional(installed: frozenset[str]) -> tuple[OperationRoute, ...]:
    return tuple(map(OperationRoute, optional_operations(installed)))


def create_metrics_application(ctx: WebContext) -> ASGIApp:
    """Return an application with `/healthz`, `/readyz` and `/metrics` only, for a worker."""
    web = Starlette(routes=PROBES)
    web.state.ctx = ctx
    add_problems(web)
    return LocalNames(web, ctx)


class LocalNames:
    """Refuses other host names while there are no keys: a foreign page can resolve its own to here."""

    def __init__(self, inner: ASGIApp, ctx: WebContext) -> None:
        self._inner, self._access = inner, ctx.app.access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and host_name(HTTPConnection(scope)) not in LOCAL_NAMES:
            try:
                required = await within(ANSWER_SECONDS, self._access.required())
            except (Unavailable, TimeoutError) as error:
                await problem_of(outage(error))(scope, receive, send)
                return
            if not required:
                await _wrong_host()(scope, receive, send)
                return
        await self._inner(scope, receive, send)


def _wrong_host() -> Response:
    return problem(
        421,
        "This host name is not served.",
        "use localhost, or make a key with `foja access create`: with keys, every host name is served",
    )
