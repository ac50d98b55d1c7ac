"""Fixtures for tests of the database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from foja.app import App
from tests.database.documents.anchor_scene import Admin, Scene, scene


@pytest.fixture
async def stage(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Scene]:
    """An installation with doubles of the networks."""
    async with scene(open_app, admin, monkeypatch) as opened:
        yield opened
