"""A read-only snapshot of the whole database. Later changes are not visible in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foja.engine.driver.database import connect, explained, our_errors
from foja.engine.driver.snapshot import Snapshot, read_only
from foja.errors import RoleMissing, SchemaDiffers, SetupFailed, WrongSource

READER = "foja_reader"


@asynccontextmanager
async def snapshot(url: str) -> AsyncIterator[Snapshot]:
    """Open a read-only snapshot of a database, as a role that sees every row."""
    try:
        connection = await connect(url, READER, answer_seconds=None)  # one query may read all events
        with our_errors():
            async with read_only(connection):
                moment = Snapshot(connection)
                if not (await moment.row("has_ledger"))[0]:
                    raise SetupFailed(
                        "this database has no ledger; run `foja migrate`, or correct FOJA_DATABASE_URL"
                    )
                yield moment
    except (SchemaDiffers, WrongSource, RoleMissing) as error:
        raise await explained(url, error) from error.__cause__
