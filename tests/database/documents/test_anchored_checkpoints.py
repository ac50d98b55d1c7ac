"""Checkpoints of the log are anchored by the batches of documents; an idle installation pays nothing."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

from foja.app import App
from foja.engine.observe.fsck import Outside, fsck
from tests.database.documents.anchor_scene import Admin, Scene, scene
from tests.database.schema.rows import disarm

SETTINGS = {"checkpoint_anchor_seconds": 0.01}


async def anchored(stage: Scene) -> list[Any]:
    return [each.payload for each in await stage.app.system.events() if each.kind == "checkpoint.anchored"]


async def test_a_checkpoint_rides_with_a_batch_and_its_confirmation_is_recorded_once(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(open_app, admin, monkeypatch, **SETTINGS) as stage:
        talk = await stage.app.conversations.open()
        await talk.append("user_message_sent", {"content": "hi"})
        await stage.work()
        await stage.work()
        [(size, count)] = stage.rows("select size, count(*) over () from foja.anchor_batch")
        assert (size, count) == (1, 1), "the checkpoint alone"
        await stage.confirm()
        [event] = await anchored(stage)
        [(note,)] = stage.rows(
            """select note from foja.checkpoint c join foja.log l using (origin)
            where l.name = %s and c.size = %s""",
            event["origin"],
            event["size"],
        )
        assert event["sha256"] == sha256(note.encode()).hexdigest()
        proof = await stage.app.anchors.proofs.proof_of(stage.app.system.id, "polygon", event["sha256"])
        assert proof is not None
        assert event["proof"] == {"sha256": sha256(proof.data).hexdigest()}
        await stage.work()
        assert len(await anchored(stage)) == 1
        await stage.check()


async def test_an_installation_whose_only_new_entries_are_its_own_anchors_nothing_more(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(open_app, admin, monkeypatch, **SETTINGS) as stage:
        talk = await stage.app.conversations.open()
        await talk.append("user_message_sent", {"content": "hi"})
        for _ in range(4):
            await stage.work()
            await stage.confirm()
        assert stage.chain.paid == 1
        assert len(await anchored(stage)) == 1
        await talk.append("user_message_sent", {"content": "again"})
        for _ in range(4):
            await stage.work()
            await stage.confirm()
        assert stage.chain.paid == 2
        [first, second] = await anchored(stage)
        assert second["size"] > first["size"]


async def test_documents_and_a_checkpoint_share_one_batch(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(open_app, admin, monkeypatch, checkpoint_anchor_seconds=86_400) as stage:
        documents = await stage.protect(2)
        await stage.app.work(until_idle=True, only=["protect_document_v2"])
        await stage.work()
        assert stage.rows("select size from foja.anchor_batch") == [(3,)]
        await stage.confirm()
        assert {stage.kinds(each)[1] for each in documents} == {"anchor.confirmed"}
        assert len(await anchored(stage)) == 1
        assert stage.chain.paid == 1


PLANTED = {
    "another note of the checkpoint": (
        """update foja.checkpoint c set note = note || 'x' from foja.event v
        where v.kind = 'checkpoint.anchored' and (v.payload ->> 'size')::bigint = c.size""",
        "a checkpoint with the digest",
    ),
    "no checkpoint": ("delete from foja.checkpoint", "a checkpoint with the digest"),
    "another digest in the batch": (
        "update foja.anchor_member set witness_hash = repeat('ab', 32) where index = 0",
        "leaves of other digests",
    ),
    "text in place of a digest": ("update foja.anchor_member set witness_hash = 'no'", "have no tree"),
    "a digest less": ("delete from foja.anchor_member where index = 1", "found 2 digests"),
    "another root": (r"update foja.anchor_batch set root = sha256('\x00')", "of the 3 digests in batch"),
    "another network": (
        "update foja.anchor_batch set network = 'rekor'",
        "a batch of polygon with the digest",
    ),
    "never sent": ("update foja.anchor_batch set status = 'drafted'", "a batch of polygon that was sent"),
}


@pytest.mark.parametrize("what", PLANTED)
async def test_fsck_compares_events_checkpoints_and_batches(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    async with scene(open_app, admin, monkeypatch, checkpoint_anchor_seconds=86_400) as stage:
        await stage.protect(2)
        await stage.work()
        await stage.work()
        await stage.confirm()
        assert len(await anchored(stage)) == 1
        outside = Outside(stage.app.store, [stage.app.signer.verifier()])
        url = stage.app.settings.database_url
        clean = await fsck(url, outside)
        assert clean.clean, [str(each) for each in clean.findings]
        disarm(admin)
        statement, words = PLANTED[what]
        stage.run(statement)
        found = [str(each) for each in (await fsck(url, outside)).findings if each.check == "anchor"]
        assert any(words in each for each in found), found
