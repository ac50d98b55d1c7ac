"""The routes of the web application: complete as declared, and shared by all applications of a process."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette

from foja.engine.settings import Settings
from foja.interfaces.web.access.front import Front
from foja.interfaces.web.application import create_application
from foja.interfaces.web.binding import BoundRoute, OperationRoute
from foja.interfaces.web.log import files
from foja.interfaces.web.reference.openapi import document


def application() -> Starlette:
    ctx: Any = SimpleNamespace(app=SimpleNamespace(access=None), front=Front(Settings()))
    web: Any = create_application(ctx)
    while not isinstance(web, Starlette):
        web = web._inner
    return web


def api_routes(web: Starlette) -> Iterator[BoundRoute]:
    for route in web.routes:
        assert isinstance(route, BoundRoute)
        if route.path.startswith(("/v1/", "/mcp")):
            yield route


@pytest.fixture(scope="module")
def web() -> Starlette:
    return application()


def test_every_request_of_the_api_is_counted(web: Starlette) -> None:
    """`tests/flow/http/test_operations.py` shows that the route of an operation counts."""
    api = [*api_routes(web)]
    assert len(api) > 100
    for route in api:
        counts_itself = route.operation.run.__module__ == files.__name__  # also who has no key
        assert counts_itself or type(route) is OperationRoute, route.path


def test_no_two_operations_have_one_name(web: Starlette) -> None:
    names = [route.operation.name for route in web.routes if isinstance(route, BoundRoute)]
    assert sorted(names) == sorted({*names})


def test_every_described_answer_has_its_errors(web: Starlette) -> None:
    for path, methods in document(web)["paths"].items():
        for operation in methods.values():
            assert {"4XX", "5XX"} <= operation["responses"].keys(), path


def test_applications_share_routes_and_document_but_not_their_state(web: Starlette) -> None:
    other = application()
    assert [id(route) for route in api_routes(other)] == [id(route) for route in api_routes(web)]
    assert document(other) is document(web)
    assert other.state.ctx is not web.state.ctx
