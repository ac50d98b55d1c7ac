"""The artifacts of a batch are built from a few reads, however many documents it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from foja.app import App
from foja.engine.blobs.store import Store
from foja.engine.driver.database import Database
from foja.engine.ledger.excerpts import excerpts


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries and the tiles that are read from now on."""
    found: list[str] = []

    def record(owner: type, name: str) -> None:
        original = getattr(owner, name)

        async def recorded(self: Any, what: str, *values: Any, **more: Any) -> Any:
            found.append(f"{name} {what}")
            return await original(self, what, *values, **more)

        monkeypatch.setattr(owner, name, recorded)

    record(Database, "rows")
    record(Database, "many")
    record(Store, "read")
    return found


async def documents(app: App, count: int) -> list[tuple[UUID, int]]:
    """Return documents that a checkpoint covers, and how many events each has."""
    added = [await app.documents.add_digest(f"{number:064x}") for number in range(count)]
    await app.work(until_idle=True, only=[])
    return [(document.id, 1) for document in added]


async def test_the_reads_of_a_batch_do_not_grow_with_its_documents(app: App, reads: list[str]) -> None:
    """Histories, leaves and checkpoints are one query each, and a tile is read once."""
    wanted = await documents(app, 24)
    assert await reads_for(app, wanted[:2], reads) == await reads_for(app, wanted, reads) <= 4


async def reads_for(app: App, wanted: Sequence[tuple[UUID, int]], reads: list[str]) -> int:
    reads.clear()
    assert None not in await app.bundles.read(wanted)
    return len(reads)


async def test_a_batch_reads_what_each_document_alone_would(app: App) -> None:
    wanted = await documents(app, 5)
    for (document, _), proven in zip(wanted, await app.bundles.read(wanted), strict=True):
        assert proven is not None
        assert proven.events == [event async for event in excerpts(app.ledger, document)]
        assert [proven.proof] == await app.ledger.log.prove_first([(document, 0)])


async def test_a_history_that_no_checkpoint_covers_is_none(app: App) -> None:
    [covered] = await documents(app, 1)
    new = await app.documents.add_digest("f" * 64)
    found = await app.bundles.read([(new.id, 1), covered, (covered[0], 2)])
    assert [each is None for each in found] == [True, False, True]
