"""The surfaces of one installation: the library, and the client of a server with a key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from foja import client as foja_client
from foja.app import App
from foja.client import Client
from foja.pure.models.access.principal import ALL
from tests.flow.client.client import served


@pytest.fixture
async def url(app: App) -> AsyncIterator[str]:
    """The address of a server of the app."""
    async with served(app) as http:
        yield str(http.base_url)


@pytest.fixture
async def client(url: str) -> AsyncIterator[Client]:
    async with foja_client.connect(url) as client:
        yield client


@pytest.fixture(params=["library", "client"])
async def surface(request: pytest.FixtureRequest, app: App) -> AsyncIterator[Any]:
    """`foja.connect(...)`, and again `foja.client.connect(url, key=...)`."""
    if request.param == "library":
        yield app
        return
    key = await app.access.keys.create("default", [*ALL], installation=True)
    async with served(app) as http, foja_client.connect(str(http.base_url), key=key.text) as client:
        yield client
