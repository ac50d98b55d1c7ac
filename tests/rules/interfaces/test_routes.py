"""The routes of the web application: complete as declared, and shared by all applications of a process."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from foja.engine.settings import Settings
from foja.interfaces.web.access.front import Front
from foja.interfaces.web.application import create_application
from foja.interfaces.web.binding import OperationRoute
from foja.interfaces.web.limits.admission import admit
from foja.interfaces.web.log import files


def application() -> FastAPI:
    ctx: Any = SimpleNamespace(app=SimpleNamespace(access=None), front=Front(Settings()))
    web: Any = create_application(ctx)
    while not isinstance(web, FastAPI):
        web = web._inner
    return web


def api_routes(web: FastAPI) -> Iterator[BaseRoute]:
    for route in web.routes:
        if getattr(route, "path", "").startswith(("/v1/", "/mcp")):
            yield route


@pytest.fixture(scope="module")
def web() -> FastAPI:
    return application()


def test_every_request_of_the_api_is_counted(web: FastAPI) -> None:
    api = [*api_routes(web)]
    assert len(api) > 100
    for route in api:
        if isinstance(route, OperationRoute):
            continue  # `tests/flow/http/test_operations.py` counts them
        assert isinstance(route, APIRoute)
        counts_itself = route.endpoint.__module__ == files.__name__  # also who has no key
        assert counts_itself or admit in [each.dependency for each in route.dependencies], route.path


def test_every_described_answer_has_its_errors(web: FastAPI) -> None:
    described = [route for route in web.routes if isinstance(route, APIRoute) and route.include_in_schema]
    for route in described:
        assert {"4XX", "5XX"} <= {*route.responses}, route.path


def test_applications_share_routes_and_document_but_not_their_state(web: FastAPI) -> None:
    other = application()
    assert [id(route) for route in api_routes(other)] == [id(route) for route in api_routes(web)]
    assert other.openapi() is web.openapi()
    assert other.state.ctx is not web.state.ctx
