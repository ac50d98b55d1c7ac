"""Random outcomes and clocks: nothing stays requested without a deadline, and nothing is paid twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from foja.anchors.network import Refused
from foja.app import App
from tests.database.anchor_scene import Admin, Scene, scene

CODES = ("missing_tx_hash", "receipt_status", "proof_invalid", "dropped", "timeout")
STEPS, SETTLING = 25, 40


async def act(stage: Scene, chance: random.Random) -> None:
    """Do one thing that can happen."""
    match chance.choice(
        ("protect", "work", "mine", "look", "spend", "expire", "reorg", "down", "refuse", "die")
    ):
        case "protect":
            await stage.protect(chance.randint(1, 3))
        case "work":
            await stage.work()
        case "mine":
            stage.chain.mine()
        case "look":
            await stage.look()
        case "spend" if chance.random() < 0.4:
            stage.chain.spend(len(stage.chain.used))
        case "expire" if chance.random() < 0.5:
            stage.expire()
        case "reorg" if stage.chain.paid and "foreign" not in stage.chain.used.values():
            stage.chain.reorganise(keep=chance.random() < 0.5)
        case "down":
            stage.polygon.down = not stage.polygon.down
        case "refuse":
            refuse(stage, chance.choice(CODES))
        case "die":
            await stage.claim(most=2)
            stage.release()


def refuse(stage: Scene, code: str) -> None:
    """Let the network refuse what is in no block yet; no nonce is used."""
    query = "select encode(root, 'hex'), state ->> 'raw' from foja.anchor_batch where status = 'sent'"
    for root, raw in stage.rows(query):
        if stage.chain.find(raw) is None:
            stage.chain.pool.pop(raw, None)
            stage.polygon.refusals[root] = Refused({"raw": raw}, code, "the double says so")


async def settle(stage: Scene) -> None:
    """Let everything come to its end: the network works again, and time passes."""
    stage.polygon.down = False
    stage.release()
    for turn in range(SETTLING):
        if turn % 8 == 7:
            stage.expire()
        stage.run("update foja.job set run_at = now() where state in ('queued', 'retry_scheduled')")
        await stage.work()
        stage.chain.mine()
        await stage.look()
        if not stage.rows("select 1 from foja.attempt where state = 'open' and evidence = 'polygon'"):
            return
    raise AssertionError(
        stage.rows("select * from foja.attempt where state = 'open' and evidence = 'polygon'")
    )


@pytest.mark.parametrize("seed", range(4))
async def test_everything_ends_and_nothing_is_paid_twice(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    async with scene(open_app, admin, monkeypatch, polygon_attempts=4) as stage:
        documents = await stage.protect(2)
        for _ in range(STEPS):
            await act(stage, chance)
        await settle(stage)
        holders = stage.rows("select nonce from foja.anchor_batch where status <> 'refused' or spent")
        assert max(Counter(holders).values(), default=1) == 1
        roots = {root for (root,) in stage.rows("select encode(root, 'hex') from foja.anchor_batch")}
        mined = [raw for block in stage.chain.blocks for raw in block if raw != "foreign"]
        assert len(mined) == len(set(mined))
        assert {raw.partition(":")[2] for raw in mined} <= roots
        every = stage.rows("select entity_id from foja.entity where domain = 'document'")
        assert len(every) >= len(documents)
        for (document,) in every:
            view = await stage.app.documents.view(document)
            [polygon] = [each for each in view.evidence if each.evidence == "polygon"]
            assert polygon.status in ("confirmed", "given_up"), view.explain
        await stage.check()
