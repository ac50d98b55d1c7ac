"""Temporary databases on an existing server."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection
from psycopg import sql as composed
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from foja.engine import sql
from foja.engine.driver.database import our_errors
from foja.engine.sql.network import limit_network

EMPTY = "template1"


@asynccontextmanager
async def temporary_database(url: str, *, copied: bool = False) -> AsyncIterator[str]:
    """Yield the URL of a new database on the server of `url`, or of a copy; drop it afterwards."""
    name = f"foja_scratch_{secrets.token_hex(6)}"
    template = str(conninfo_to_dict(url)["dbname"]) if copied else EMPTY
    await _administer(url, "create_scratch", name=name, template=template)
    try:
        yield make_conninfo(url, dbname=name)
    finally:
        await _administer(url, "drop_scratch", name=name)


async def _administer(url: str, query: str, **names: str) -> None:
    """Run a statement about databases, connected to `postgres`: a template must have no connections."""
    identifiers = {key: composed.Identifier(name) for key, name in names.items()}
    with our_errors():
        async with await AsyncConnection.connect(
            limit_network(make_conninfo(url, dbname="postgres")), autocommit=True
        ) as connection:
            await connection.execute(composed.SQL(sql.query(query)).format(**identifiers))
