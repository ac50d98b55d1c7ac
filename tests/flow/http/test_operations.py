"""Every operation over HTTP: its scope is needed, and each request is counted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import httpx

from foja.app import App
from foja.interfaces.operations import OPERATIONS
from foja.interfaces.operations.operation import Operation, signature_of, template_of
from foja.pure.models.access.principal import Scope
from tests.flow.access.access_scene import bearer, make_key
from tests.flow.client.client import served


def address(operation: Operation) -> str:
    """Return an address of an operation, with names that nothing has."""
    values = {
        each.alias: "7" if ":int}" in operation.path else str(uuid4())
        for each in signature_of(operation).path
    }
    return template_of(operation).format(**values)


async def ask(client: httpx.AsyncClient, operation: Operation, key: str) -> httpx.Response:
    body: dict[str, str] | None = {} if signature_of(operation).body else None
    return await client.request(operation.method, address(operation), headers=bearer(key), json=body)


async def test_an_operation_needs_its_scope(app: App) -> None:
    """Whoever has every other scope is refused, also where a scope has to be for all tenants."""
    keys = {
        scope: await make_key(app, [each for each in Scope if each not in (scope, Scope.ADMIN)])
        for scope in Scope
    }
    one_tenant = await make_key(app, [Scope.ADMIN], tenant="acme")
    async with served(app) as client:
        for operation in OPERATIONS:
            if operation.scope is None:
                continue  # whoever is known may do it
            refused = await ask(client, operation, keys[operation.scope])
            assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed"), operation.name
            if operation.installation:
                assert (await ask(client, operation, one_tenant)).status_code == 403, operation.name


async def test_each_request_is_counted(
    open_app: Callable[..., AbstractAsyncContextManager[App]],
) -> None:
    async with open_app(rate_limit=0.001, rate_burst=1) as app, served(app) as client:
        for operation in OPERATIONS:
            key = await make_key(app)
            await ask(client, operation, key)
            again = await ask(client, operation, key)
            assert again.status_code == 429, operation.name
