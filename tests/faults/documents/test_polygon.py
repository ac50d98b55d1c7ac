"""Polygon when things go wrong: on a real node, with one payment at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from time import sleep
from typing import Any

import pytest

from foja.engine.anchors.network import Batch, Confirmed, Refused
from foja.engine.anchors.polygon import Polygon
from foja.errors import Tampered, Unavailable
from foja.pure.proofs.evm import eip1559
from foja.pure.proofs.evm.signer import PrivateKey
from foja.pure.proofs.finding import Reason, Status
from tests.counterparties.anvil import node
from tests.flow.networks.polygon_scene import ACCOUNT, DEPTH, FINAL, GWEI, KEY, Scene, hashes, scene, stored
from tests.flow.networks.rpc_proxy import Failed, Lost, Proxy, proxy

pytestmark = pytest.mark.long


@pytest.fixture
def polygon() -> Iterator[Scene]:
    with scene() as found:
        yield found


@pytest.fixture
def liar(polygon: Scene) -> Iterator[Proxy]:
    """Lend a proxy in front of the node."""
    with proxy(polygon.chain.url) as found:
        yield found


def is_paid_once(polygon: Scene, batch: Batch, confirmed: Confirmed) -> bool:
    """Return whether the account paid for this batch and for nothing else."""
    count = int(polygon.chain.ask("eth_getTransactionCount", ACCOUNT, "latest"), 16)
    return count == 1 and confirmed.fee == polygon.paid() > 0 and confirmed.payload["txid"] in hashes(batch)


async def test_a_reorg_that_drops_the_transaction(polygon: Scene) -> None:
    batch, place = await polygon.draft()
    await polygon.network.send(batch)
    polygon.mine(2)
    polygon.chain.ask("anvil_reorg", 2, [])
    assert polygon.chain.ask("eth_getTransactionByHash", hashes(batch)[0]) is None
    batch, waiting = await polygon.wait(batch)
    assert "was sent" in waiting.detail
    batch, confirmed = await polygon.confirm(batch)
    assert len(hashes(batch)) == 1
    assert is_paid_once(polygon, batch, confirmed)
    assert polygon.judge(batch, place, confirmed).status is Status.VERIFIED


async def test_a_reorg_that_moves_the_transaction(polygon: Scene) -> None:
    batch, _ = await polygon.draft()
    await polygon.network.send(batch)
    polygon.mine(3)
    first = polygon.chain.ask("eth_getTransactionReceipt", hashes(batch)[0])["blockHash"]
    polygon.chain.ask("anvil_reorg", 3, [[batch.state["transactions"][0]["raw"], 2]])
    batch, waiting = await polygon.wait(batch)
    assert "not final" in waiting.detail
    batch, confirmed = await polygon.confirm(batch)
    assert confirmed.payload["block_hash"] != first
    assert is_paid_once(polygon, batch, confirmed)


@pytest.mark.parametrize("moved", [False, True])
async def test_a_reorg_after_the_confirmation(polygon: Scene, moved: bool) -> None:
    batch, place = await polygon.draft()
    await polygon.network.send(batch)
    batch, first = await polygon.confirm(batch)
    raw = batch.state["transactions"][0]["raw"]
    polygon.chain.ask("anvil_reorg", 6, [[raw, 3]] if moved else [])
    refused = await polygon.network.watch(batch)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.spent) == ("reorged", True)
    batch = replace(batch, state=refused.state)
    assert batch.state["reorged"] == [first.payload["block_hash"]]
    with pytest.raises(Exception, match="not confirmed"):
        polygon.network.prove(batch, place)
    batch, waiting = await polygon.wait(batch)
    assert ("not final" if moved else "was sent") in waiting.detail
    batch, second = await polygon.confirm(batch)
    assert second.payload["txid"] == first.payload["txid"]
    assert is_paid_once(polygon, batch, second)
    assert polygon.judge(batch, place, first).reason is Reason.BLOCK_NOT_TRUSTED
    assert polygon.judge(batch, place, second).status is Status.VERIFIED


async def test_a_stuck_transaction_is_replaced_and_every_hash_kept(polygon: Scene) -> None:
    batch, place = await polygon.draft()
    await polygon.network.send(batch)
    polygon.chain.ask("evm_setBlockGasLimit", hex(21_000))
    polygon.mine()
    batch, _ = await polygon.wait(batch)
    assert len(hashes(batch)) == 1
    polygon.clock.move(60)
    batch, waiting = await polygon.wait(batch)
    old, new = batch.state["transactions"]
    assert waiting.seconds == 0
    assert polygon.chain.ask("eth_getTransactionByHash", new["hash"]) is None  # stored before it is sent
    for fee in ("max_fee", "priority_fee"):
        assert new[fee] >= old[fee] * 1.125
    polygon.chain.ask("evm_setBlockGasLimit", hex(30_000_000))
    batch, waiting = await polygon.wait(batch)
    assert "was sent" in waiting.detail
    assert polygon.pool() == 1
    batch, confirmed = await polygon.confirm(batch)
    assert confirmed.payload["txid"] == new["hash"]
    assert len(hashes(batch)) == 2
    assert is_paid_once(polygon, batch, confirmed)
    assert polygon.judge(batch, place, confirmed).status is Status.VERIFIED


async def test_the_first_transaction_may_be_mined_after_its_replacement_was_signed(polygon: Scene) -> None:
    batch, _ = await polygon.draft()
    await polygon.network.send(batch)
    polygon.clock.move(60)
    batch, _ = await polygon.wait(batch)
    assert len(hashes(batch)) == 2
    batch, confirmed = await polygon.confirm(batch)
    assert confirmed.payload["txid"] == hashes(batch)[0]
    assert is_paid_once(polygon, batch, confirmed)


async def test_a_replacement_that_was_not_stored_is_not_sent(polygon: Scene) -> None:
    batch, _ = await polygon.draft()
    await polygon.network.send(batch)
    polygon.clock.move(60)
    lost, _ = await polygon.wait(batch)  # a crash: the state is not stored
    again, _ = await polygon.wait(batch)
    assert hashes(lost) == hashes(again)  # signed again: the same bytes
    assert polygon.pool() == 1
    batch, confirmed = await polygon.confirm(batch)
    assert is_paid_once(polygon, batch, confirmed)


async def test_a_dropped_transaction_is_sent_again(polygon: Scene) -> None:
    batch, _ = await polygon.draft()
    await polygon.network.send(batch)
    polygon.chain.ask("anvil_dropTransaction", hashes(batch)[0])
    assert polygon.pool() == 0
    batch, waiting = await polygon.wait(batch)
    assert "was sent" in waiting.detail
    assert polygon.pool() == 1
    batch, confirmed = await polygon.confirm(batch)
    assert len(hashes(batch)) == 1
    assert is_paid_once(polygon, batch, confirmed)


async def test_a_spike_of_the_base_fee(polygon: Scene) -> None:
    batch, _ = await polygon.draft()
    await polygon.network.send(batch)
    polygon.chain.ask("anvil_setNextBlockBaseFeePerGas", hex(300 * GWEI))
    polygon.mine()
    batch, waiting = await polygon.wait(batch)
    assert "refused" in waiting.detail
    with pytest.raises(Unavailable, match="over the cap of 200"):
        await polygon.using(max_fee_gwei=200).draft(1)
    polygon.clock.move(60)
    capped = polygon.using(max_fee_gwei=200)
    capped_batch, waiting = await capped.wait(batch)
    assert "cap of 200 gwei" in waiting.detail
    assert len(hashes(capped_batch)) == 1
    batch, _ = await polygon.wait(batch)
    batch, waiting = await polygon.wait(batch)
    assert "was sent" in waiting.detail
    batch, confirmed = await polygon.confirm(batch)
    assert confirmed.payload["txid"] == hashes(batch)[-1]
    assert confirmed.fee <= eip1559.ANCHOR_GAS * polygon.terms.max_fee
    assert is_paid_once(polygon, batch, confirmed)


async def test_a_gap_of_nonces(polygon: Scene) -> None:
    second, _ = await polygon.draft(1, b"second")
    await polygon.network.send(second)
    polygon.mine(DEPTH + FINAL)
    polygon.clock.move(60)
    second, waiting = await polygon.wait(second)
    assert "waits for nonce 0" in waiting.detail
    assert len(hashes(second)) == 1  # a replacement would not help
    first, _ = await polygon.draft(0, b"first")
    await polygon.network.send(first)
    first, confirmed = await polygon.confirm(first)
    second, other = await polygon.confirm(second)
    assert confirmed.fee + other.fee == polygon.paid()


async def test_a_foreign_transaction_uses_the_nonce(polygon: Scene) -> None:
    batch, _ = await polygon.draft()
    key = PrivateKey.decode(bytes.fromhex(KEY[2:]))
    foreign = eip1559.Unsigned(137, 0, 30 * GWEI, 100 * GWEI, 30_000, bytes(20), b"")
    polygon.chain.ask("eth_sendRawTransaction", "0x" + eip1559.sign(foreign, key).hex())
    polygon.mine()
    await polygon.network.send(batch)
    batch, waiting = await polygon.wait(batch)
    assert "not final yet" in waiting.detail
    polygon.mine(FINAL)
    batch, refused = await polygon.look(batch)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.spent) == ("nonce_spent", True)
    other, _ = await polygon.draft(1)
    await polygon.network.send(other)
    await polygon.confirm(other)


async def test_a_transaction_that_fails_in_its_block(polygon: Scene) -> None:
    reverting = "0x" + "0b" * 20
    polygon.chain.ask("anvil_setCode", reverting, "0x5f5ffd")
    polygon.chain.ask("anvil_setCode", ACCOUNT, "0xef0100" + reverting[2:])  # EIP-7702
    batch, _ = await polygon.draft()
    await polygon.network.send(batch)
    polygon.mine(1 + max(DEPTH, FINAL))
    batch, refused = await polygon.look(batch)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.spent, refused.fee) == ("receipt_status", True, polygon.paid())


async def test_a_batch_without_a_transaction(polygon: Scene) -> None:
    batch, _ = await polygon.draft()
    empty = replace(batch, state={})
    for step in (polygon.network.send, polygon.network.look):
        refused = await step(empty)
        assert isinstance(refused, Refused)
        assert refused.code == "missing_tx_hash"


async def test_a_node_that_is_down() -> None:
    with scene() as up:
        batch, place = await up.draft()
        await up.network.send(batch)
        batch, _ = await up.confirm(batch)
    network = up.network
    for step in (up.draft(), network.send(batch), network.look(batch), network.watch(batch)):
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1.* did not answer eth_chainId"):
            await step
    ready = await up.network.check()
    assert len(ready.missing) == 1
    assert "did not answer" in ready.missing[0]
    assert up.network.prove(batch, place)  # needs no node


@pytest.mark.parametrize("saved", [False, True])
async def test_the_answer_to_a_sent_transaction_is_lost(polygon: Scene, liar: Proxy, saved: bool) -> None:
    through = polygon.using(rpc_urls=(liar.url,))
    batch, _ = await through.draft()

    def lose(params: list[Any], ask: Any) -> Any:
        if saved:
            ask("eth_sendRawTransaction", *params)
        raise Lost

    liar.rules["eth_sendRawTransaction"] = lose
    with pytest.raises(Unavailable):
        await through.network.send(batch)
    assert polygon.pool() == saved
    liar.rules.clear()
    await through.network.send(batch)
    assert polygon.pool() == 1
    batch, confirmed = await through.confirm(batch)
    assert is_paid_once(polygon, batch, confirmed)


async def test_a_node_of_another_chain(polygon: Scene) -> None:
    batch, _ = await polygon.draft()
    with node(1) as other:
        for urls in [(other.url,), (polygon.chain.url, other.url)]:
            wrong = Polygon(replace(polygon.terms, rpc_urls=urls))
            with pytest.raises(Unavailable, match="chain 1, not of Polygon"):
                await wrong.draft(batch.root, 0)
            for step in (wrong.send, wrong.look):
                with pytest.raises(Unavailable, match="chain 1, not of Polygon"):
                    await step(batch)
            assert any("chain 1, not of Polygon" in each for each in (await wrong.check()).missing)
        assert other.ask("txpool_status")["pending"] == "0x0"
    assert polygon.pool() == 0


def receipt_in(block: dict[str, Any], txid: str) -> dict[str, Any]:
    """Return the receipt of a transaction that is not there."""
    shown = {"transactionHash": txid, "blockHash": block["hash"], "blockNumber": block["number"]}
    return {**shown, "status": "0x1", "gasUsed": "0x5208", "effectiveGasPrice": "0x1"}


async def test_a_node_that_lies_about_a_receipt(polygon: Scene, liar: Proxy) -> None:
    polygon.mine(20)
    lied_to = polygon.using(rpc_urls=(liar.url,))
    batch, place = await lied_to.draft()
    [txid] = hashes(batch)
    block = polygon.chain.ask("eth_getBlockByNumber", "0x5", True)
    liar.rules["eth_getTransactionReceipt"] = lambda params, ask: receipt_in(block, txid)
    batch, waiting = await lied_to.wait(batch)
    assert "does not hold" in waiting.detail

    raw = batch.state["transactions"][0]["raw"]
    shown = {**raw_as_json(raw), "hash": txid}
    liar.rules["eth_getBlockByHash"] = lambda params, ask: {**block, "transactions": [shown]}
    liar.rules["eth_getRawTransactionByHash"] = lambda params, ask: raw
    batch, waiting = await lied_to.wait(batch)
    assert "without a proof" in waiting.detail
    changed = {**block, "transactions": [shown], "transactionsRoot": "0x" + "11" * 32}
    liar.rules["eth_getBlockByHash"] = lambda params, ask: changed
    batch, waiting = await lied_to.wait(batch)
    assert "does not have the hash" in waiting.detail
    liar.rules["eth_getTransactionCount"] = lambda params, ask: "0x1"  # it lies about the nonce, too
    batch, refused = await lied_to.look(batch)
    assert isinstance(refused, Refused)
    assert refused.code == "proof_invalid"
    assert polygon.paid() == 0

    both = polygon.using(rpc_urls=(polygon.chain.url, liar.url))
    batch, waiting = await both.wait(batch)
    assert "do not agree" in waiting.detail
    liar.rules.clear()
    await both.network.send(batch)
    batch, confirmed = await both.confirm(batch)
    assert is_paid_once(polygon, batch, confirmed)
    assert both.judge(batch, place, confirmed).status is Status.VERIFIED


def raw_as_json(raw: str) -> dict[str, Any]:
    """Return fields that cannot be rebuilt: the node is asked for the raw bytes then."""
    return {"type": "0x2", "raw": raw}


async def test_a_block_with_a_state_sync_at_its_end(polygon: Scene, liar: Proxy) -> None:
    """Nodes of Polygon show it, and the root does not cover it."""
    through = polygon.using(rpc_urls=(liar.url,))

    def with_state_sync(params: list[Any], ask: Any) -> Any:
        block = ask("eth_getBlockByHash", *params)
        return {**block, "transactions": [*block["transactions"], STATE_SYNC]}

    liar.rules["eth_getBlockByHash"] = with_state_sync
    batch, place = await through.draft()
    await through.network.send(batch)
    batch, confirmed = await through.confirm(batch)
    assert "eth_getRawTransactionByHash" in liar.asked
    assert through.judge(batch, place, confirmed).status is Status.VERIFIED


STATE_SYNC = {
    **dict.fromkeys(("gas", "gasPrice", "nonce", "value", "type", "v", "r", "s"), "0x0"),
    "from": "0x" + "00" * 20,
    "to": "0x" + "00" * 20,
    "input": "0x",
    "hash": "0x" + "33" * 32,
}


async def happen(chance: Random, polygon: Scene, batch: Batch) -> None:
    """Let one thing happen to the node, to the clock, or to the process."""
    height = int(polygon.chain.ask("eth_blockNumber"), 16)
    match chance.randrange(7):
        case 0:
            await polygon.network.send(batch)
        case 1:
            polygon.mine(chance.randrange(1, 8))
        case 2 if height > 8:
            polygon.chain.ask("anvil_reorg", chance.randrange(1, 8), [])
        case 3:
            polygon.chain.ask("anvil_dropTransaction", hashes(batch)[-1])
        case 4:
            polygon.chain.ask("anvil_setNextBlockBaseFeePerGas", hex(chance.randrange(1, 300) * GWEI))
        case 5:
            polygon.clock.move(60)
        case 6 if "confirmed" not in batch.state:
            await polygon.network.look(batch)  # what it found is lost


async def settle(polygon: Scene, batch: Batch) -> Batch:
    """Look at a batch or watch it, and return it as it is stored afterwards."""
    if "confirmed" not in batch.state:
        return (await polygon.look(batch))[0]
    return replace(batch, state=stored((await polygon.network.watch(batch)).state))


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_happens_it_is_paid_once(polygon: Scene, seed: int) -> None:
    chance = Random(seed)
    batch, place = await polygon.draft()
    for _ in range(40):
        await happen(chance, polygon, batch)
        batch = await settle(polygon, batch)
    for _ in range(20):
        polygon.clock.move(60)
        polygon.chain.ask("anvil_setNextBlockBaseFeePerGas", hex(GWEI))
        polygon.mine(1 + max(DEPTH, FINAL))
        batch = await settle(polygon, batch)
    confirmed = await polygon.network.watch(batch)
    assert isinstance(confirmed, Confirmed)
    assert is_paid_once(polygon, batch, confirmed)
    assert polygon.judge(batch, place, confirmed).status is Status.VERIFIED


async def test_two_nodes_must_agree(polygon: Scene, liar: Proxy) -> None:
    both = polygon.using(rpc_urls=(polygon.chain.url, liar.url))
    batch, _ = await both.draft()
    await both.network.send(batch)
    polygon.mine(1 + max(DEPTH, FINAL))

    def another_hash(params: list[Any], ask: Any) -> Any:
        return {**ask("eth_getBlockByNumber", *params), "hash": "0x" + "22" * 32}

    liar.rules["eth_getBlockByNumber"] = another_hash
    batch, waiting = await both.wait(batch)
    assert "another one now" in waiting.detail
    liar.rules["eth_getTransactionReceipt"] = lambda params, ask: None  # it is behind
    batch, waiting = await both.wait(batch)
    assert "do not agree" in waiting.detail
    liar.rules = dict.fromkeys(["eth_chainId"], failing)
    with pytest.raises(Unavailable, match="too few"):
        await both.network.look(batch)
    liar.rules.clear()
    batch, confirmed = await both.look(batch)
    assert isinstance(confirmed, Confirmed)
    liar.rules["eth_getBlockByNumber"] = another_hash
    with pytest.raises(Unavailable, match="do not agree"):
        await both.network.watch(batch)
    alone = await polygon.using(rpc_urls=(liar.url,)).network.watch(batch)
    assert isinstance(alone, Refused)
    assert is_paid_once(polygon, batch, confirmed)


def failing(params: list[Any], ask: Any) -> Any:
    raise Failed("out of order")


async def test_one_of_two_nodes_is_enough_to_draft_and_send(polygon: Scene, liar: Proxy) -> None:
    both = polygon.using(rpc_urls=(liar.url, polygon.chain.url))
    liar.rules["eth_chainId"] = failing
    batch, _ = await both.draft()
    await both.network.send(batch)
    assert polygon.pool() == 1
    [line] = (await both.network.check()).missing  # but not to confirm
    assert "out of order" in line
    three = polygon.using(rpc_urls=(polygon.chain.url, liar.url, polygon.chain.url))
    ready = await three.network.check()
    assert (ready.missing, ready.found["troubles"]) == ([], [line])
    batch, confirmed = await three.confirm(batch)
    assert is_paid_once(polygon, batch, confirmed)


async def test_a_check_without_a_key_and_with_a_node_that_is_behind(polygon: Scene, liar: Proxy) -> None:
    both = polygon.using(rpc_urls=(polygon.chain.url, liar.url))
    batch, _ = await both.draft()
    await both.network.send(batch)
    polygon.mine()
    liar.rules["eth_getTransactionCount"] = lambda params, ask: "0x0"
    assert "nonce" not in (await both.network.check()).found, "they do not agree"
    ready = await both.using(private_key="").network.check()
    assert ["none is set" in each for each in ready.missing] == [True]
    assert (ready.found["chain"], ready.found.get("nonce")) == (137, None)


async def test_nodes_that_are_slow(polygon: Scene, liar: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(params: list[Any], ask: Any) -> Any:
        sleep(0.2)
        return ask("eth_getTransactionCount", *params)

    liar.rules["eth_getTransactionCount"] = slow
    batch, _ = await polygon.draft()
    monkeypatch.setattr("foja.engine.anchors.polygon.network.MOST_SECONDS", 0.3)
    with pytest.raises(Unavailable, match=r"took more than 0\.3 s"):
        await polygon.using(rpc_urls=(liar.url,)).network.look(batch)


async def test_a_signer_outside(polygon: Scene, liar: Proxy) -> None:
    """The node signs for its own account; the proxy in front of it is the signer."""
    signing = polygon.using(private_key="", signer_url=liar.url, account=ACCOUNT)
    assert not (await signing.network.check()).missing
    batch, place = await signing.draft()
    local, _ = await polygon.draft()
    assert hashes(batch) == hashes(local)  # the same signature as with the key
    liar.rules["eth_signTransaction"] = lambda params, ask: {"raw": ask("eth_signTransaction", *params)}
    assert hashes((await signing.draft())[0]) == hashes(local)
    await signing.network.send(batch)
    batch, confirmed = await signing.confirm(batch)
    assert is_paid_once(polygon, batch, confirmed)
    assert signing.judge(batch, place, confirmed).status is Status.VERIFIED


async def test_a_signer_that_is_away(polygon: Scene, liar: Proxy) -> None:
    signing = polygon.using(private_key="", signer_url=liar.url, account=ACCOUNT)
    batch, _ = await signing.draft()
    liar.rules["eth_signTransaction"] = failing
    with pytest.raises(Unavailable, match="refused eth_signTransaction"):
        await signing.draft(1)
    await signing.network.send(batch)
    signing.clock.move(60)
    batch, waiting = await signing.wait(batch)
    assert "was not replaced" in waiting.detail
    liar.rules["eth_accounts"] = lambda params, ask: []
    assert "does not sign for" in (await signing.network.check()).missing[0]
    batch, confirmed = await signing.confirm(batch)  # what was signed before is confirmed without it
    assert is_paid_once(polygon, batch, confirmed)


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": "0x9"},
        {"value": "0x1"},
        {"to": "0x" + "0c" * 20},
        {"data": "0x"},
        {"maxFeePerGas": "0xffffffffff"},
    ],
)
async def test_a_signer_that_signs_something_else(polygon: Scene, liar: Proxy, change: Any) -> None:
    signing = polygon.using(private_key="", signer_url=liar.url, account=ACCOUNT)

    def sign(params: list[Any], ask: Any) -> Any:
        return ask("eth_signTransaction", {**params[0], **change})

    liar.rules["eth_signTransaction"] = sign
    with pytest.raises(Tampered, match=r"signed something else.*nothing was sent"):
        await signing.draft()
    other = signing.chain.ask("eth_accounts")[1]
    liar.rules["eth_signTransaction"] = lambda params, ask: ask(
        "eth_signTransaction", {**params[0], "from": other}
    )
    with pytest.raises(Tampered, match="is signed by"):
        await signing.draft()
    polygon.mine()
    assert (polygon.pool(), polygon.paid()) == (0, 0)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("price", ["0x0", hex(10**40)])
async def test_a_node_that_lies_about_the_fee(polygon: Scene, liar: Proxy, price: str, alone: bool) -> None:
    urls = (liar.url,) if alone else (liar.url, polygon.chain.url)
    lied_to = polygon.using(rpc_urls=urls)

    def lie(params: list[Any], ask: Any) -> Any:
        receipt = ask("eth_getTransactionReceipt", *params)
        return receipt and {**receipt, "effectiveGasPrice": price}

    liar.rules["eth_getTransactionReceipt"] = lie
    batch, _ = await lied_to.draft()
    await lied_to.network.send(batch)
    batch, confirmed = await lied_to.confirm(batch)
    [sent] = batch.state["transactions"]
    receipt = polygon.chain.ask("eth_getTransactionReceipt", sent["hash"])
    assert confirmed.fee == eip1559.ANCHOR_GAS * int(receipt["effectiveGasPrice"], 16)
    assert polygon.paid() <= confirmed.fee <= eip1559.ANCHOR_GAS * sent["max_fee"]


async def test_a_node_that_suggests_too_much(polygon: Scene, liar: Proxy) -> None:
    lied_to = polygon.using(rpc_urls=(liar.url,))
    liar.rules["eth_maxPriorityFeePerGas"] = lambda params, ask: hex(10**30)
    batch, _ = await lied_to.draft()
    assert batch.state["transactions"][0]["priority_fee"] == 10 * polygon.terms.priority_fee


async def test_the_cap_is_checked_with_the_most_that_any_replacement_costs(polygon: Scene) -> None:
    drafted = await polygon.network.draft(bytes(32), 0)
    batch, _ = await polygon.draft()
    polygon.chain.ask("evm_setBlockGasLimit", hex(21_000))
    for _ in range(40):
        polygon.clock.move(60)
        batch, waiting = await polygon.wait(batch)
        newest = batch.state["transactions"][-1]
        assert eip1559.ANCHOR_GAS * newest["max_fee"] <= drafted.max_fee
        assert waiting.max_fee <= drafted.max_fee
    assert len(hashes(batch)) > 5
    assert "allows no more" in waiting.detail
    raised = polygon.using(max_fee_gwei=2 * polygon.terms.max_fee_gwei)
    batch, waiting = await raised.wait(batch)  # an operator raised the setting: the batch may cost more
    assert (
        waiting.max_fee == eip1559.ANCHOR_GAS * batch.state["transactions"][-1]["max_fee"] > drafted.max_fee
    )


async def test_nodes_must_agree_on_the_nonce(polygon: Scene, liar: Proxy) -> None:
    both = polygon.using(rpc_urls=(polygon.chain.url, liar.url))
    found = (await both.network.check()).found
    assert (found["nonce"], found["final_nonce"]) == (0, 0)
    liar.rules["eth_getTransactionCount"] = lambda params, ask: hex(1_000_000)
    for urls in [(polygon.chain.url, liar.url), (liar.url, polygon.chain.url)]:
        ready = await polygon.using(rpc_urls=urls).network.check()
        assert ready.missing == [], "batches that have their nonce need no agreement about it"
        assert "nonce" not in ready.found
        assert "final_nonce" not in ready.found
        [line] = ready.found["troubles"]
        assert "do not agree on the nonce" in line


async def test_a_low_balance(polygon: Scene) -> None:
    batch, _ = await polygon.draft()
    polygon.chain.ask("anvil_setBalance", ACCOUNT, hex(10**12))
    [line] = (await polygon.network.check()).missing
    assert "less than one transaction may cost" in line
    with pytest.raises(Unavailable, match="less than one transaction may cost"):
        await polygon.draft(1)
    waiting = await polygon.network.send(batch)
    assert "nsufficient funds" in waiting.detail  # type: ignore[union-attr]
    polygon.chain.ask("anvil_setBalance", ACCOUNT, hex(10**18))
    funded = polygon.using()
    batch, waiting = await funded.wait(batch)
    assert "was sent" in waiting.detail
    batch, confirmed = await funded.confirm(batch)
    assert is_paid_once(funded, batch, confirmed)
