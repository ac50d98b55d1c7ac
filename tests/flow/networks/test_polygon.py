"""Anchors on a real EVM node: one transaction from the draft to a proof that others can check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from foja import verify
from foja.engine.anchors.network import Confirmed, Network, Waiting
from foja.errors import Refused
from foja.pure.judge.report import Verdict
from foja.pure.proofs.finding import Reason, Status
from tests.flow.networks.polygon_scene import ACCOUNT, Scene, hashes, scene
from tests.wallet import Account


@pytest.fixture
def polygon() -> Iterator[Scene]:
    with scene() as found:
        yield found


async def test_a_batch_is_anchored_once_and_proven(polygon: Scene, tmp_path: Path) -> None:
    network: Network = polygon.network
    ready = await network.check()
    assert not ready.missing
    assert (ready.found["chain"], ready.found["nonce"]) == (137, 0)
    assert ready.found["balance"] == polygon.before > ready.found["price"]
    assert network.account == ready.found["account"] == Account.from_key(polygon.terms.private_key).address

    batch, place = await polygon.draft()
    assert polygon.pool() == 0
    with pytest.raises(Refused, match="not confirmed"):
        network.prove(batch, place)
    for _ in range(2):  # the same bytes may be sent any number of times
        assert isinstance(await network.send(batch), Waiting)
        assert polygon.pool() == 1
    batch, waiting = await polygon.wait(batch)
    assert "is in the pool" in waiting.detail
    polygon.mine()
    batch, waiting = await polygon.wait(batch)
    assert "not final or not 5 deep" in waiting.detail
    batch, confirmed = await polygon.confirm(batch)

    [txid] = hashes(batch)
    transaction = polygon.chain.ask("eth_getTransactionByHash", txid)
    assert transaction["input"] == "0x" + (b"LDG1" + batch.root).hex()
    assert transaction["from"] == transaction["to"] == ACCOUNT
    block = polygon.chain.ask("eth_getBlockByNumber", transaction["blockNumber"], False)
    height = int(block["number"], 16)
    assert confirmed.payload == {"txid": txid, "block_height": height, "block_hash": block["hash"]}
    assert confirmed.confirmed_at.timestamp() == int(block["timestamp"], 16)
    assert confirmed.fee == polygon.paid() > 0
    assert polygon.judge(batch, place, confirmed).status is Status.VERIFIED
    assert polygon.judge(batch, place, replace(confirmed, trust=())).reason is Reason.BLOCK_NOT_TRUSTED

    proof = tmp_path / "x.evm.json"
    proof.write_bytes(network.prove(batch, place))
    digest = f"sha256:{place.digest.hex()}"
    later = confirmed.confirmed_at + timedelta(minutes=1)
    report = verify(digest=digest, proofs=[proof], trust=[*confirmed.trust], at=later)
    assert report.verdict is Verdict.TOTAL_PASSED
    again = await network.watch(batch)
    assert isinstance(again, Confirmed)
    assert again == replace(confirmed, state=batch.state)
