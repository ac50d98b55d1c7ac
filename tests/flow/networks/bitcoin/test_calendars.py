"""Calendars that are slow, down, wrong or lying: the batch waits, says why, and none of them confirms it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from opentimestamps.bitcoin import make_timestamp_from_block
from opentimestamps.core.op import OpSHA1
from opentimestamps.core.timestamp import Timestamp

import foja
from foja.engine.anchors.bitcoin import Bitcoin
from foja.engine.anchors.network import Refused, Waiting
from foja.errors import Refused as RefusedRequest
from foja.errors import Unavailable
from foja.pure.judge.report import Verdict
from tests.counterparties.bitcoin_node import BitcoinNode
from tests.counterparties.ots_calendar import Calendar, ots_calendar
from tests.counterparties.ports import free_port
from tests.flow.networks.bitcoin.story import Story, confirmed, terms

LATER = datetime.now(UTC) + timedelta(days=1)


@pytest.mark.long
async def test_a_long_wait_keeps_the_pending_proof_and_asks_seldom(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    story = Story(Bitcoin(terms(node, alice, bob)))
    await story.begin()
    proofs = story.proofs()
    for _ in range(5):
        found = await story.look()
        assert isinstance(found, Waiting)
        assert (found.seconds, "no calendar has a Bitcoin block" in found.detail) == (1000, True)
        assert story.proofs() == proofs
    assert (len(alice.asked), len(alice.promised)) == (6, 1), "one promise, then one question per look"


@pytest.mark.long
async def test_a_calendar_that_is_down_is_asked_again_and_the_other_confirms(
    node: BitcoinNode, alice: Calendar
) -> None:
    port, absent = free_port(), Calendar()
    absent.url = f"http://127.0.0.1:{port}"
    story = Story(Bitcoin(terms(node, alice, absent)))
    ready = await story.network.check()
    assert not ready.missing, "one that answers is enough"
    assert (list(ready.found["away"]), ready.found["calendars"]) == ([absent.url], [alice.url])
    sent = await story.begin()
    assert isinstance(sent, Waiting)
    assert (sent.seconds, absent.url in sent.detail) == (3, True)
    with ots_calendar(absent, port):
        found = await story.look()
        assert isinstance(found, Waiting)
        assert len(absent.promised) == 1
    alice.anchor(node)
    node.grow(5)
    confirmed(await story.look())
    assert f"{absent.url} did not answer" in story.log


@pytest.mark.long
async def test_no_calendar_answers(node: BitcoinNode) -> None:
    away = [Calendar(url=f"http://127.0.0.1:{free_port()}") for _ in range(2)]
    story = Story(Bitcoin(terms(node, *away)))
    missing = (await story.network.check()).missing
    assert [each.url in line for each, line in zip(away, missing, strict=True)] == [True, True]
    with pytest.raises(Unavailable, match="no calendar accepted the root"):
        await story.begin()
    with pytest.raises(RefusedRequest):
        story.proofs()


@pytest.mark.long
async def test_every_calendar_refuses(node: BitcoinNode, alice: Calendar, bob: Calendar) -> None:
    story = Story(Bitcoin(terms(node, alice, bob)))
    alice.status, bob.status = 400, 404
    found = await story.begin()
    assert isinstance(found, Refused)
    assert (found.code, "HTTP status 400" in found.detail) == ("calendars_refused", True)
    alice.status = 503
    with pytest.raises(Unavailable):
        await story.send()


@pytest.mark.long
@pytest.mark.parametrize("garbage", [b"", b"<html>", b"\x08" * 9000, b"\0" * 20_000], ids=len)
async def test_a_calendar_that_answers_garbage_is_logged_and_never_confirms(
    node: BitcoinNode, alice: Calendar, bob: Calendar, garbage: bytes
) -> None:
    story = Story(Bitcoin(terms(node, alice, bob)))
    alice.answer = bob.answer = garbage
    try:
        found = await story.begin()
    except Unavailable:  # too large counts as no answer
        assert len(garbage) > 10_000
    else:
        assert isinstance(found, Waiting)
        assert "something else than a timestamp" in story.log
    bob.answer = None
    found = await story.look()
    assert isinstance(found, Waiting)
    assert list(story.batch.state["calendars"]) == [bob.url]
    alice.answer, bob.answer = None, garbage
    found = await story.look()
    assert isinstance(found, Waiting)
    alice.anchor(node)
    node.grow(5)
    found = confirmed(await story.look())
    assert len(found.trust) == 2


@pytest.mark.long
@pytest.mark.parametrize("lost", ["lose_before", "lose_after"])
async def test_an_answer_that_is_lost_is_asked_for_again(
    node: BitcoinNode, alice: Calendar, bob: Calendar, lost: str
) -> None:
    """Not saved, or saved and the answer lost: in both cases one root, one confirmation."""
    story = Story(Bitcoin(terms(node, alice, bob)))
    for each in (alice, bob):
        setattr(each, lost, 1)
    with pytest.raises(Unavailable):
        await story.begin()
    assert [len(each.promised) for each in (alice, bob)] == [int(lost == "lose_after")] * 2
    assert isinstance(await story.send(), Waiting)
    alice.anchor(node)
    node.grow(5)
    alice.lose_before = 1
    assert isinstance(await story.look(), Waiting)
    confirmed(await story.look())


@pytest.mark.long
@pytest.mark.parametrize("saved", [True, False])
async def test_a_crash_between_two_steps(
    node: BitcoinNode, alice: Calendar, bob: Calendar, saved: bool
) -> None:
    """The state of a step is stored or lost; the next step goes on from what is stored."""
    story = Story(Bitcoin(terms(node, alice, bob)))
    before = (await story.network.draft(story.batch.root, None)).state
    await story.begin()
    if not saved:
        story.store(before)
    found = await story.look()
    assert isinstance(found, Waiting)
    assert len(alice.promised) == (1 if saved else 2)
    alice.anchor(node)
    node.grow(5)
    after = story.batch
    confirmed(await story.look())
    proofs = story.proofs()
    if not saved:
        story.batch = after
        confirmed(await story.look())
        assert story.proofs() == proofs, "the same proof from the same answers"


@pytest.mark.long
async def test_an_attestation_of_another_root_is_logged_and_never_confirms(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    story = Story(Bitcoin(terms(node, alice, bob)))
    await story.begin()
    node.grow(8)
    alice.lie(node.height - 7)
    for _ in range(2):
        found = await story.look()
        assert isinstance(found, Waiting)
    assert story.log.count("another root") == 1
    bob.lie(2**40)
    found = await story.look()
    assert isinstance(found, Waiting)
    assert (found.seconds, "does not have" in found.detail) == (1000, True)
    bob.forget_blocks()
    height = bob.anchor(node)
    node.grow(5)
    good = confirmed(await story.look())
    assert good.payload["block_height"] == height
    report = foja.verify(digest=story.digests[0], trust=good.trust, at=LATER, proofs=story.proofs()[:1])
    assert report.verdict is Verdict.TOTAL_PASSED, "the lie is not in the proof"


@pytest.mark.long
async def test_paths_that_prove_nothing_end_the_batch(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    """Both calendars lead to a real block, by SHA-1."""
    story = Story(Bitcoin(terms(node, alice, bob)))
    await story.begin()
    for each in (alice, bob):
        [message] = each.promised
        weak = Timestamp(message)
        hashed = weak.ops.add(OpSHA1())
        block, height = node.mine(hashed.msg)
        hashed.merge(make_timestamp_from_block(hashed.msg, block, height))
        each.in_blocks[message] = weak
    node.grow(6)
    found = await story.look()
    assert isinstance(found, Refused)
    assert (found.code, "SHA-1" in found.detail) == ("proof_invalid", True)


@pytest.mark.long
async def test_a_calendar_that_gives_up_is_a_timeout_of_the_provider(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    story = Story(Bitcoin(terms(node, alice, bob)))
    await story.begin()
    alice.status = 410
    assert isinstance(await story.look(), Waiting)
    bob.status = 410
    found = await story.look()
    assert isinstance(found, Refused)
    assert found.code == "timeout"


@pytest.mark.long
async def test_a_calendar_that_a_proof_names_is_never_asked(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    with ots_calendar() as stranger:
        alice.named = bob.named = stranger.url
        story = Story(Bitcoin(terms(node, alice, bob)))
        await story.begin()
        await story.look()
        alice.status = 302
        await story.look()
        alice.status = None
        alice.anchor(node)
        node.grow(5)
        confirmed(await story.look())
        assert stranger.url.encode() in story.proofs()[0], "bob's promise is still in the proof"
        assert stranger.asked == []
    assert len(bob.asked) > 2


@pytest.mark.long
async def test_a_promise_that_names_the_other_calendar_is_asked_there(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    alice.named = f"{bob.url}/"
    story = Story(Bitcoin(terms(node, alice, bob)))
    await story.begin()
    await story.look()
    assert [method for method, _ in alice.asked] == ["POST"]
    assert [method for method, _ in bob.asked].count("GET") == 2


@pytest.mark.long
async def test_a_calendar_that_is_configured_no_more_is_not_asked(
    node: BitcoinNode, alice: Calendar, bob: Calendar
) -> None:
    story = Story(Bitcoin(terms(node, alice, bob)))
    await story.begin()
    story.network = Bitcoin(terms(node, bob))
    assert "names 1 calendars; 2 are needed" in (await story.network.check()).missing[0]
    story.network = Bitcoin(terms(node, bob, least_calendars=1))
    assert not (await story.network.check()).missing
    await story.look()
    assert [method for method, _ in alice.asked] == ["POST"]
