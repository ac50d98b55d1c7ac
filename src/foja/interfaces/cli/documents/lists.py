"""The list of documents, read with one connection. It imports little, so that `foja status` starts fast."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foja.domains.documents.lists import DocumentLists
from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.driver.tenant_statement import UNNAMED, Row
from foja.engine.embedded.servers import database
from foja.engine.settings import Settings
from foja.errors import RoleMissing
from foja.interfaces.cli.installation import create_app, read_existing
from foja.pure.proofs.notices import LOCAL_NOTICE


class TenantQueries:
    """Runs queries about the streams of one tenant, as the ledger does."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database, self._tenant = database, tenant

    async def ask(self, question: str, of: type[Row] = UNNAMED, /, **values: object) -> list[Row]:
        """Return the rows of a query."""
        return await self._database.of(self._tenant).rows(
            sql.query(question), of, tenant=self._tenant, **values
        )


@asynccontextmanager
async def open_lists(arguments: Namespace) -> AsyncIterator[DocumentLists]:
    """Yield the lists of an installation that must already exist. Migrate it first if it has no schema."""
    settings = read_existing(arguments)
    async with database(settings) as url:
        api = Database(url, "foja_api", 1)
        try:
            if await _is_migrated(api):
                yield DocumentLists(TenantQueries(api, settings.own_tenant), _note(settings))
                return
        finally:
            await api.close()
    async with create_app(settings) as app:
        yield app.documents.lists


async def _is_migrated(api: Database) -> bool:
    try:
        return bool((await api.rows(sql.query("has_ledger")))[0][0])
    except RoleMissing:
        return False


def _note(settings: Settings) -> str | None:
    """Return the remark about the authorities. Only certificates of others have to be read for it."""
    if not settings.tsa_urls.split():
        return LOCAL_NOTICE
    from foja.domains.documents.authorities import local_notice

    return local_notice(settings)
