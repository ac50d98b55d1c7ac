"""What lists show, written anew while others write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import psycopg

from foja.app import App
from foja.domains.documents.workers import executor
from foja.domains.documents.workers.executor import Executor
from foja.engine.driver.database import Database
from foja.engine.observe.audit import audit

Meanwhile = Callable[[], Awaitable[object]]


class Slow(Executor):
    """Reads, and lets somebody else write before it goes on; once."""

    meanwhile: Meanwhile | None = None

    async def _read(self, documents: Sequence[UUID]) -> Any:
        found = await super()._read(documents)
        if self.meanwhile is not None:
            wait, self.meanwhile = self.meanwhile, None
            await wait()
        return found


async def rebuilt(app: App, documents: Sequence[UUID], meanwhile: Meanwhile) -> int:
    database = Database(app.settings.database_url, f"foja_{executor.SOURCE.replace('-', '_')}", 1)
    slow = Slow(database, app.documents.policy, app.stamper.check)
    slow.meanwhile = meanwhile
    try:
        return await slow.rebuild(documents)
    finally:
        await database.close()


async def test_what_was_read_earlier_is_not_written_over_what_is_newer(
    app: App, admin: psycopg.Connection[Any]
) -> None:
    documents = [(await app.documents.add(b"a", name=str(n))).id for n in range(3)]
    await app.work(until_idle=True)
    admin.execute(
        "update foja.document_summary set state = 'final', length = 1 where entity_id = %s", documents[:1]
    )
    admin.execute(
        "update foja.document_summary set state = 'final', length = 9 where entity_id = %s", documents[1:2]
    )

    async def revoke() -> None:
        for each in documents[1:]:
            await app.documents.revoke(each, reason="wrong file")
        await app.work(until_idle=True)

    assert await rebuilt(app, documents, revoke) == 2
    listed = {each.id: (each.lifecycle, each.state) for each in await app.documents.list()}
    assert listed == {
        documents[0]: ("witness_ready", "none"),
        documents[1]: ("revoked", "none"),
        documents[2]: ("revoked", "none"),
    }
    assert (await audit(app.settings.database_url, max_lag_seconds=60)).clean


async def test_a_rebuild_beside_writers_leaves_what_the_events_say(app: App) -> None:
    documents = [(await app.documents.add(b"a", name=str(n))).id for n in range(20)]

    async def write() -> None:
        for each in documents:
            await app.documents.protect(each)
            await app.documents.record(each, "document.signature.started")
        await app.work(until_idle=True)

    writing = asyncio.create_task(write())
    while not writing.done():
        assert (await app.rebuild()).guards == 0  # what is whole under the lock is never something else
    await writing
    while await app.documents.at_work(documents):
        await app.work(until_idle=True)
    assert (await audit(app.settings.database_url, max_lag_seconds=60)).clean
    assert (await app.rebuild()).mended == 0


async def test_an_entry_says_when_its_document_began_and_what_is_missing(
    app: App, admin: psycopg.Connection[Any]
) -> None:
    alone, asked = [(await app.documents.add(b"a", name=str(n))).id for n in range(2)]
    await app.documents.protect(asked)
    await app.work(until_idle=True, only=[executor.TYPE])
    entries = admin.execute(
        """select s.entity_id, s.began_at = v.at, s.pipeline
        from foja.document_summary s join foja.event v on v.entity_id = s.entity_id and v.seq = 0"""
    ).fetchall()
    assert sorted(entries) == sorted([(alone, True, None), (asked, True, "awaiting_tsa")])
