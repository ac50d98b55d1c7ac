"""What a start does to the database before anything else."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg import AsyncConnection

from foja.domains.registration import prepare
from foja.engine.sql.network import limit_network


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The connections that were opened, as they were opened."""
    urls: list[str] = []
    connect = AsyncConnection.connect

    async def noted(url: str, **options: Any) -> AsyncConnection[Any]:
        urls.append(url)
        return await connect(url, **options)

    monkeypatch.setattr(AsyncConnection, "connect", noted)
    return urls


async def test_steps_roles_and_domains_are_checked_on_one_connection(
    database_url: str, opened: list[str]
) -> None:
    moved = await prepare(database_url)
    assert (moved.before, opened) == (moved.after, [limit_network(database_url)])


async def test_they_are_also_made_on_one_connection(empty_database_url: str, opened: list[str]) -> None:
    moved = await prepare(empty_database_url)
    assert (moved.before, moved.newest, opened) == (0, True, [limit_network(empty_database_url)])
