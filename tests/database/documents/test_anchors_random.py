"""Random outcomes and clocks: nothing stays requested without a deadline, and nothing is paid twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from foja.app import App
from foja.engine.anchors.network import Refused
from tests.database.documents.anchor_scene import Admin, Scene, scene

CODES = {
    "polygon": ("missing_tx_hash", "receipt_status", "proof_invalid", "dropped", "timeout"),
    "bitcoin": ("proof_invalid", "timeout"),
    "rekor": ("proof_invalid", "log_refused"),
}
STEPS, SETTLING = 25, 40


async def act(stage: Scene, network: str, chance: random.Random) -> None:
    """Do one thing that can happen."""
    chain = stage.networks[network].chain
    match chance.choice(
        ("protect", "work", "mine", "look", "spend", "expire", "reorg", "down", "refuse", "die")
    ):
        case "protect":
            await stage.protect(chance.randint(1, 3), network)
        case "work":
            await stage.work()
        case "mine":
            chain.mine()
        case "look":
            await stage.look(network)
        case "spend" if network == "polygon" and chance.random() < 0.4:
            chain.spend(len(chain.used))
        case "expire" if chance.random() < 0.5:
            stage.expire()
        case "reorg" if network != "rekor" and chain.paid and "foreign" not in chain.used.values():
            chain.reorganise(keep=chance.random() < 0.5)
        case "down":
            stage.networks[network].down = not stage.networks[network].down
        case "refuse":
            refuse(stage, network, chance.choice(CODES[network]))
        case "die":
            await stage.claim(network, most=2)
            stage.release()


def refuse(stage: Scene, network: str, code: str) -> None:
    """Let the network refuse what is in no block yet; no nonce is used."""
    query = "select encode(root, 'hex'), state ->> 'raw' from foja.anchor_batch where status = 'sent'"
    for root, raw in stage.rows(query):
        if stage.networks[network].chain.find(raw) is None:
            stage.networks[network].chain.pool.pop(raw, None)
            stage.networks[network].refusals[root] = Refused({"raw": raw}, code, "the double says so")


async def settle(stage: Scene, network: str) -> None:
    """Let everything come to its end: the network works again, and time passes."""
    stage.networks[network].down = False
    stage.release()
    still_open = f"select * from foja.attempt where state = 'open' and evidence = '{network}'"
    for turn in range(SETTLING):
        if turn % 8 == 7:
            stage.expire()
        stage.run("update foja.job set run_at = now() where state in ('queued', 'retry_scheduled')")
        await stage.work()
        stage.networks[network].chain.mine()
        await stage.look(network)
        await stage.work()  # what follows from an end is another attempt, or nothing
        if not stage.rows(still_open):
            return
    raise AssertionError(stage.rows(still_open))


def check_payments(stage: Scene, network: str) -> None:
    """Check that no nonce was used twice, that nothing was mined twice, and that all of it was ours."""
    holders = stage.rows(
        "select nonce from foja.anchor_batch where nonce is not null and (status <> 'refused' or spent)"
    )
    assert max(Counter(holders).values(), default=1) == 1
    roots = {root for (root,) in stage.rows("select encode(root, 'hex') from foja.anchor_batch")}
    blocks = stage.networks[network].chain.blocks
    mined = [raw for block in blocks for raw in block if raw != "foreign"]
    assert len(mined) == len(set(mined))
    assert {raw.partition(":")[2] for raw in mined} <= roots


@pytest.mark.parametrize(
    ("network", "seed"), [(name, seed) for name in CODES for seed in range(4 if name == "polygon" else 2)]
)
async def test_everything_ends_and_nothing_is_paid_twice(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch, network: str, seed: int
) -> None:
    chance, settings = random.Random(seed), {f"{network}_attempts": 4}
    async with scene(open_app, admin, monkeypatch, network, **settings) as stage:
        documents = await stage.protect(2, network)
        for _ in range(STEPS):
            await act(stage, network, chance)
        await settle(stage, network)
        check_payments(stage, network)
        every = stage.rows("select entity_id from foja.entity where domain = 'document'")
        assert len(every) >= len(documents)
        for (document,) in every:
            view = await stage.app.documents.view(document)
            [found] = [each for each in view.evidence if each.evidence == network]
            assert found.status in ("confirmed", "given_up"), view.explain
        await stage.check()
