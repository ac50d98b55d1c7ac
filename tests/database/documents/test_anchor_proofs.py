"""The proofs of many documents of one batch are derived from one read of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from hashlib import sha256
from typing import Any

import pytest

from foja.engine.anchors import proofs
from foja.engine.anchors.proofs import AnchorProofs
from foja.engine.driver.database import Database
from foja.engine.sql import query
from tests.database.documents.anchor_scene import Scene

DOCUMENTS = 24
LEAF_BYTES = 48  # a leaf and its salt


class CountingDatabase:
    """Counts the statements and the bytes that they return."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.statements, self.bytes = Counter[str](), 0

    async def one(self, statement: Any, **values: object) -> tuple[Any, ...]:
        row = await self.row(statement, **values)
        assert row is not None
        return row

    async def row(self, statement: Any, *of: type[Any], **values: object) -> tuple[Any, ...] | None:
        self.statements[statement] += 1
        row: tuple[Any, ...] | None = await self._database.row(statement, *of, **values)
        self.bytes += sum(len(each) for each in row or () if isinstance(each, bytes))
        return row


def counted(stage: Scene) -> tuple[CountingDatabase, AnchorProofs]:
    database = CountingDatabase(stage.app.sweeper)
    return database, AnchorProofs(database, stage.networks)  # type: ignore[arg-type]


async def test_a_batch_is_read_once_for_documents_that_are_asked_for_together(
    stage: Scene,
) -> None:
    documents = await stage.protect(DOCUMENTS)
    await stage.work()
    await stage.confirm()
    database, source = counted(stage)
    found = await asyncio.gather(*(source.proof_of(each, "polygon") for each in documents))
    for document, proof in zip(documents, found, strict=True):
        named = stage.payload(document, "anchor.confirmed")["proof"]["sha256"]
        assert proof is not None
        assert sha256(proof.data).hexdigest() == named
    assert database.statements[query("anchor_leaves")] == 1
    assert database.statements[query("anchored_place")] == DOCUMENTS
    root_bytes = 32  # of the batch's row, with each place
    assert database.bytes == DOCUMENTS * (LEAF_BYTES + root_bytes)


async def test_only_the_last_batches_are_kept(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "KEPT_BATCHES", 2)
    documents = []
    for _ in range(3):
        documents += await stage.protect(1)
        await stage.work()
        await stage.confirm()
    database, source = counted(stage)
    for at in (0, 1, 0, 2, 0, 1):  # 2 pushes 1 out, which was asked for before 0
        assert await source.proof_of(documents[at], "polygon")
    assert database.statements[query("anchor_leaves")] == 4


async def test_a_proof_follows_its_batch_to_another_block(stage: Scene) -> None:
    [document] = await stage.protect(1)
    await stage.work()
    await stage.confirm()
    _, source = counted(stage)
    first = await source.proof_of(document, "polygon")
    stage.chain.reorganise(keep=True)
    await stage.look()
    assert await source.proof_of(document, "polygon") is None
    await stage.look()
    second = await source.proof_of(document, "polygon")
    assert first is not None
    assert second is not None
    assert second.data != first.data
    assert second.trust != first.trust
