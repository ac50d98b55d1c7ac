"""Bitcoin for real: calendars on the library of OpenTimestamps, a bcoin node on regtest, the client `ots`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from opentimestamps.core.notary import BitcoinBlockHeaderAttestation
from opentimestamps.core.serialize import BytesDeserializationContext
from opentimestamps.core.timestamp import DetachedTimestampFile

import foja
from foja.engine.anchors.bitcoin import Bitcoin
from foja.engine.anchors.network import Confirmed, Refused, Waiting
from foja.errors import Refused as RefusedRequest
from foja.errors import Unavailable
from foja.pure.judge.render.headline import headline
from foja.pure.judge.report import Verdict
from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.ots.header import Header
from tests.counterparties.bitcoin_node import BitcoinNode, bitcoin_node
from tests.counterparties.block_server import block_server
from tests.counterparties.ots_calendar import Calendar
from tests.counterparties.ports import free_port
from tests.flow.networks.bitcoin.story import Story, confirmed, file_of, ots, terms

LATER = datetime.now(UTC) + timedelta(days=1)


async def test_a_batch_is_confirmed_by_a_block_and_every_tool_agrees(
    node: BitcoinNode, alice: Calendar, bob: Calendar, tmp_path: Path
) -> None:
    """The whole way: promised, in a block, deep enough, proven, judged, followed by the real client."""
    network = Bitcoin(terms(node, alice, bob))
    ready = await network.check()
    assert not ready.missing
    assert ready.found["height"] == node.height
    files = [file_of(tmp_path, b"document %d" % number) for number in range(5)]
    story = Story(network, [digest for _, digest in files])
    sent = await story.begin()
    assert isinstance(sent, Waiting)
    posts = [[path for method, path in each.asked if method == "POST"] for each in (alice, bob)]
    assert posts == [["/digest"]] * 2, "one request per calendar"
    for proof, digest in zip(story.proofs(), story.digests, strict=True):
        pending = foja.verify(digest=digest, trust=(), proofs=[proof])
        assert pending.evidence[0].reason is Reason.NOT_ATTESTED_YET

    first = alice.anchor(node)
    waiting = await story.look()
    assert isinstance(waiting, Waiting)
    assert (waiting.detail, waiting.seconds) == (
        f"Bitcoin regtest block {first} needs 5 more confirmations",
        50,
    )
    second = bob.anchor(node)
    node.grow(5)
    found = confirmed(await story.look())
    header = Header(first, node.header(first))
    block = {"block_height": first, "block_hash": node.ask("getblockhash", first)}
    assert found.payload == {**block, "test_network": "regtest"}
    assert found.confirmed_at == header.time
    assert found.trust[0] == "bitcoin-network:regtest:0"
    assert [each.split(":")[1] for each in found.trust[1:]] == [str(first), str(second)], "all are kept"
    assert isinstance(await network.watch(story.batch), Confirmed)

    for (path, digest), proof in zip(files, story.proofs(), strict=True):
        report = foja.verify(path, found.trust, LATER, proofs=[proof])
        assert report.verdict is Verdict.TOTAL_PASSED
        assert headline(report).tone == "caution"
        assert f"Bitcoin regtest block {first}, a block of a test network" in headline(report).first
        assert foja.verify(path, (), LATER, proofs=[proof]).verdict is Verdict.INDETERMINATE
        as_main = foja.verify(path, found.trust[1:], LATER, proofs=[proof])
        assert as_main.evidence[0].reason is Reason.POW_INVALID, "never as the main network"
        theirs = DetachedTimestampFile.deserialize(BytesDeserializationContext(proof))
        assert theirs.file_digest == digest
        Path(f"{path}.ots").write_bytes(proof)
    code, said = await asyncio.to_thread(ots, tmp_path, node, [], "verify", f"{files[2][0]}.ots")
    assert (code, f"Bitcoin block {first} attests" in said) == (0, True), said


@pytest.mark.long
async def test_the_real_client_stamps_upgrades_and_verifies_at_the_same_calendar(
    node: BitcoinNode, alice: Calendar, tmp_path: Path
) -> None:
    """The counterparty is a calendar to others, too."""
    path, _ = file_of(tmp_path, b"stamped by ots")
    name = f"{path}.ots"

    def run(*words: str) -> tuple[int, str]:
        return ots(tmp_path, node, [alice], *words)

    code, said = await asyncio.to_thread(run, "stamp", "-c", alice.url, "-m", "1", str(path))
    assert code == 0, said
    height = alice.anchor(node)
    node.grow(5)
    code, said = await asyncio.to_thread(run, "upgrade", name)
    assert code == 0, said
    code, said = await asyncio.to_thread(run, "verify", name)
    assert (code, f"Bitcoin block {height} attests" in said) == (0, True), said


@pytest.mark.long
async def test_the_client_upgrades_a_pending_proof_of_ours(
    node: BitcoinNode, alice: Calendar, bob: Calendar, tmp_path: Path
) -> None:
    path, digest = file_of(tmp_path, b"pending")
    story = Story(Bitcoin(terms(node, alice, bob)), [digest])
    await story.begin()
    Path(f"{path}.ots").write_bytes(story.proofs()[0])
    height = bob.anchor(node)
    code, said = await asyncio.to_thread(ots, tmp_path, node, [alice, bob], "upgrade", f"{path}.ots")
    assert code == 0, said
    code, said = await asyncio.to_thread(ots, tmp_path, node, [], "verify", f"{path}.ots")
    assert (code, f"Bitcoin block {height} attests" in said) == (0, True), said


@pytest.mark.long
async def test_a_reorganisation_revokes_and_the_calendar_anchors_again(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    story = Story(Bitcoin(terms(node, alice, bob)))
    await story.begin()
    height = alice.anchor(node)
    node.grow(5)
    first = confirmed(await story.look())
    old = story.batch
    node.ask("invalidateblock", node.ask("getblockhash", height))
    assert node.height == height - 1
    with pytest.raises(Unavailable, match="below Bitcoin regtest block"):
        await story.watch()
    assert story.batch == old
    node.grow(6)
    gone = await story.watch()
    assert isinstance(gone, Refused)
    assert (gone.code, first.payload["block_hash"] in gone.detail) == ("reorged", True)
    found = await story.look()
    assert isinstance(found, Waiting), "the calendar still names the block that is gone"
    assert "another root" in found.detail
    alice.forget_blocks()
    alice.anchor(node)
    node.grow(5)
    second = confirmed(await story.look())
    assert second.payload["block_height"] > height
    assert isinstance(await story.watch(), Confirmed)
    report = foja.verify(digest=story.digests[0], trust=second.trust, at=LATER, proofs=story.proofs()[:1])
    assert report.verdict is Verdict.TOTAL_PASSED


@pytest.mark.long
async def test_a_block_that_is_lost_before_it_is_deep_never_confirms(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    story = Story(Bitcoin(terms(node, alice, bob)))
    await story.begin()
    height = alice.anchor(node)
    node.grow(2)
    assert isinstance(await story.look(), Waiting)
    node.ask("invalidateblock", node.ask("getblockhash", height))
    node.grow(8)
    found = await story.look()
    assert isinstance(found, Waiting)
    assert "another root" in story.log


@pytest.mark.long
async def test_two_sources_of_headers_must_agree(
    node: BitcoinNode, alice: Calendar, bob: Calendar, tmp_path: Path
) -> None:
    with bitcoin_node(tmp_path) as other, block_server(node) as same, block_server(other) as different:
        other.grow(node.height + 20)
        settings = terms(None, alice, bob, header_urls=(same,))
        assert "1 of 2 sources" in (await Bitcoin(settings).check()).missing[0]
        story = Story(Bitcoin(replace(settings, header_urls=(same, different))))
        await story.begin()
        height = alice.anchor(node)
        node.grow(5)
        found = await story.look()
        assert isinstance(found, Waiting)
        assert f"disagree about block {height}" in found.detail
        for agreed in ({"rpc_urls": (node.url,)}, {"rpc_urls": (node.url, node.url), "header_urls": ()}):
            again = Story(Bitcoin(replace(settings, **agreed)), story.digests)
            again.batch = story.batch
            confirmed(await again.look())
        confirmed(await again.look())
        again.network = Bitcoin(replace(settings, rpc_urls=(node.url, other.url), header_urls=()))
        with pytest.raises(Unavailable, match="disagree"):
            await again.watch()


@pytest.mark.long
async def test_a_node_that_is_down_or_of_another_network_confirms_nothing(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    story = Story(Bitcoin(terms(node, alice, bob, rpc_urls=(f"http://u:p@127.0.0.1:{free_port()}",))))
    await story.begin()
    alice.anchor(node)
    node.grow(5)
    found = await story.look()
    assert isinstance(found, Waiting)
    assert (found.seconds, "0 of 1 sources" in found.detail) == (3, True)
    assert ":p@" not in json.dumps(story.batch.state)
    for network in ("main", "testnet", "signet"):
        story.network = Bitcoin(terms(node, alice, bob, network=network))
        found = await story.look()
        assert isinstance(found, Waiting)
        assert f"is of another network than {network}" in found.detail
        assert f"another network than {network}" in (await story.network.check()).missing[0]
    story.network = Bitcoin(terms(node, alice, bob))
    attested = DetachedTimestampFile.deserialize(BytesDeserializationContext(story.proofs()[0])).timestamp
    kinds = [each for _, each in attested.all_attestations()]
    assert any(isinstance(each, BitcoinBlockHeaderAttestation) for each in kinds), (
        "kept while the node was down"
    )
    confirmed(await story.look())


@pytest.mark.long
async def test_nothing_is_watched_that_is_not_confirmed(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    story = Story(Bitcoin(terms(node, alice, bob)))
    await story.begin()
    with pytest.raises(RefusedRequest, match="not confirmed"):
        await story.watch()


@pytest.mark.long
async def test_one_of_a_thousand(node: BitcoinNode, alice: Calendar, bob: Calendar) -> None:
    digests = [sha256(number.to_bytes(4)).digest() for number in range(1000)]
    story = Story(Bitcoin(terms(node, alice, bob)), digests)
    await story.begin()
    alice.anchor(node)
    node.grow(5)
    found = confirmed(await story.look())
    proofs = story.proofs()
    assert max(map(len, proofs)) < 1100
    for number in (0, 1, 511, 512, 998, 999):
        report = foja.verify(digest=digests[number], trust=found.trust, at=LATER, proofs=[proofs[number]])
        assert report.evidence[0].status is Status.VERIFIED
