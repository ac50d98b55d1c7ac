"""Nonces and the daily cap: what nodes, other roles and replacements can do to them.

The network is a double: these are tests of the state machine, not of evidence.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from foja.app import App
from foja.engine.anchors.network import Waiting
from tests.database.documents.anchor_scene import Admin, Scene, scene
from tests.fake_network import MAX_FEE

WEI = 10**18
DISAGREEMENT = "the Polygon nodes do not agree on the nonce"


async def submit(stage: Scene) -> int:
    """Let one more batch be made; return its nonce."""
    await stage.protect(1)
    await stage.work()
    [*_, (nonce,)] = stage.rows("select nonce from foja.anchor_batch order by created_at")
    return int(nonce)


def poison(stage: Scene, nonce: int = 1_000_000) -> None:
    stage.run(
        """insert into foja.anchor_account (network, account, next_nonce) values ('polygon', '0xabc', %s)
        on conflict (network, account) do update set next_nonce = excluded.next_nonce""",
        nonce,
    )


async def test_an_account_without_batches_takes_the_nonce_that_the_nodes_agree_on(stage: Scene) -> None:
    poison(stage)
    stage.polygon.found["nonce"] = 4
    assert await submit(stage) == 4
    assert await submit(stage) == 5, "afterwards our own batches count"


async def test_nodes_move_the_nonce_of_an_account_with_batches_only_up_and_at_finality(stage: Scene) -> None:
    assert await submit(stage) == 0
    stage.polygon.found |= {"nonce": 1_000_000, "final_nonce": 0}
    assert await submit(stage) == 1
    stage.polygon.found |= {"nonce": 0, "final_nonce": 0}
    assert await submit(stage) == 2
    del stage.polygon.found["nonce"], stage.polygon.found["final_nonce"]
    assert await submit(stage) == 3, "batches that have their nonce need no agreement"
    stage.polygon.found |= {"nonce": 9, "final_nonce": 9}  # foreign transactions used 4 to 8
    assert await submit(stage) == 9


async def test_enabling_a_network_again_repairs_the_nonce(stage: Scene) -> None:
    assert [await submit(stage) for _ in range(2)] == [0, 1]
    poison(stage, 3)
    assert await submit(stage) == 3
    stage.polygon.found["nonce"] = 1  # the second batch is in no block yet
    await stage.app.anchors.enable("polygon")
    assert await submit(stage) == 2, "the first nonce that no batch has"
    assert await submit(stage) == 4, "3 is taken"
    for _ in range(5):
        stage.chain.mine()
    assert sorted(stage.chain.used) == [0, 1, 2, 3, 4]


async def test_nodes_that_do_not_agree_on_the_nonce_enable_nothing(stage: Scene) -> None:
    await stage.app.anchors.disable("polygon")
    del stage.polygon.found["nonce"]
    stage.polygon.found["troubles"] = [DISAGREEMENT]
    ready = await stage.app.anchors.enable("polygon")
    assert ready.missing == [DISAGREEMENT]
    assert stage.rows("select 1 from foja.ability where evidence = 'polygon'") == []


async def test_nodes_that_do_not_agree_on_the_nonce_let_no_first_batch_be_made(stage: Scene) -> None:
    del stage.polygon.found["nonce"]
    stage.polygon.found["troubles"] = [DISAGREEMENT]
    [document] = await stage.protect(1)
    await stage.work()
    assert stage.statuses() == {}
    assert DISAGREEMENT in await stage.app.documents.explain(document)
    stage.polygon.found["nonce"] = 0
    assert await submit(stage) == 0


@pytest.mark.parametrize("role", ["foja_api", "service_role", "authenticated", "foja_sweeper"])
async def test_only_the_maker_of_batches_can_say_a_nonce(stage: Scene, role: str) -> None:
    assert await submit(stage) == 0
    stage.run(f"set role {role}")
    for statement in (
        "select foja.enable_network_v1('polygon', '0xabc', 1000000)",
        "select foja.lease_anchor_account_v1('polygon', '0xabc', 1000000, 1000000, 1)",
        "update foja.anchor_account set next_nonce = 1000000",
    ):
        with pytest.raises(psycopg.Error, match=r"permission denied|does not exist|wrong_source"):
            stage.run(statement)
    stage.run("reset role")
    assert stage.rows("select next_nonce from foja.anchor_account") == [(1,)]


async def test_a_replacement_over_the_daily_cap_is_not_stored_and_so_not_sent(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(open_app, admin, monkeypatch, polygon_daily_cap=1) as stage:
        for _ in range(2):
            await submit(stage)
        [before, *_] = stage.rows("select state from foja.anchor_batch order by nonce")
        most = WEI - 2 * MAX_FEE  # what is left, for both together
        stage.polygon.replacement = Waiting({"raw": "higher"}, 0, "replaced", MAX_FEE + most)
        stage.run("update foja.anchor_batch set next_look = null where nonce = 1")
        await stage.look()
        assert stage.rows(
            "select max_fee, state ->> 'raw', detail from foja.anchor_batch where nonce = 0"
        ) == [(MAX_FEE + most, "higher", "replaced")]
        stage.run("update foja.anchor_batch set next_look = now() where nonce = 1")
        await stage.look()
        [(fee, raw, detail, pause)] = stage.rows(
            """select max_fee, state ->> 'raw', detail, next_look > now() + interval '50 seconds'
            from foja.anchor_batch where nonce = 1"""
        )
        assert (fee, pause) == (MAX_FEE, True)
        assert raw not in ("higher", before)
        assert "over the daily cap" in detail
        [polygon, *_] = await stage.app.anchors.overview()
        assert polygon.spent == WEI


async def test_a_batch_that_is_not_settled_counts_against_the_cap_however_old_it_is(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(open_app, admin, monkeypatch, polygon_daily_cap=1) as stage:
        await submit(stage)
        stage.run("update foja.anchor_batch set max_fee = %s, created_at = now() - interval '3 days'", WEI)
        await stage.protect(1)
        await stage.work()
        [polygon, *_] = await stage.app.anchors.overview()
        assert (polygon.pending, int(polygon.spent)) == (1, WEI)
        assert polygon.held is not None
        await stage.confirm()
        stage.run("update foja.anchor_batch set confirmed_at = now() - interval '2 days'")
        stage.run("update foja.job set run_at = now() where type = 'submit_anchor_polygon'")
        await stage.work()
        assert stage.statuses() == {"confirmed": 1, "sent": 1}
