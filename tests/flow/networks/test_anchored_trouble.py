"""Networks that go wrong, seen from a document: its events, its state, its explanation, and one payment."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

import foja
from foja.app import App
from foja.engine.observe.audit import audit
from foja.errors import Refused
from foja.pure.models.documents.states import State
from tests.flow.networks.anchored_world import Admin, World, look, running_world, work
from tests.flow.networks.polygon_scene import ACCOUNT

pytestmark = pytest.mark.long


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running_world(tmp_path) as found:
        yield found


@pytest.fixture
async def app(world: World, open_app: Callable[..., App]) -> AsyncIterator[App]:
    pauses = {"polygon_pause_seconds": 0, "bitcoin_pause_seconds": 0, "rekor_pause_seconds": 0}
    async with open_app(**world.settings, **pauses) as opened:
        for name in ("polygon", "bitcoin", "rekor"):
            assert not (await opened.anchors.enable(name)).missing
        yield opened


async def protect(app: App, *evidence: str, count: int = 2) -> list[foja.Document]:
    documents = [await app.documents.add(os.urandom(20)) for _ in range(count)]
    for each in documents:
        await each.protect(["tsa", *evidence])
    await app.work(until_idle=True)
    return documents


async def codes(document: foja.Document) -> list[str]:
    """Return what became of the anchors of a document, in order."""
    ends = [each for each in await document.events() if each.kind.startswith(("anchor.", "rekor."))]
    return [each.payload.get("failure_code") or each.kind for each in ends]


async def again(app: App, admin: Admin) -> None:
    """Let what waits for its next try be tried now, then look at every batch."""
    admin.execute("update foja.job set run_at = now() where state = 'retry_scheduled'")
    await app.work(until_idle=True)
    await look(app, admin)


async def check(app: App) -> None:
    """Check that the audit finds nothing."""
    await app.publish()
    report = await audit(app.settings.database_url, max_lag_seconds=600)
    assert report.clean, [str(each) for each in report.findings]


@pytest.mark.parametrize("moved", [False, True])
async def test_no_document_stays_confirmed_by_a_block_of_polygon_that_is_gone(
    world: World, app: App, admin: Admin, moved: bool
) -> None:
    documents = await protect(app, "polygon", "bitcoin")
    world.mine()
    await work(app, admin, documents, State.REINFORCED)
    [batch] = await app.anchors.list(network="polygon")
    raw = batch.state["transactions"][0]["raw"]
    world.chain.ask("anvil_reorg", 7, [[raw, 3]] if moved else [])
    await look(app, admin)
    for each in documents:
        view = await each.view()
        assert view.state is State.PROTECTED
        assert "The last attempt ended with reorged (“block 1 is 0x" in view.explain
    await look(app, admin)  # it is sent again: before that, there is nothing to mine
    world.mine()
    await work(app, admin, documents, State.REINFORCED)
    taken_back = ["anchor.confirmed", "reorged", "anchor.submitted", "anchor.confirmed"]
    for each in documents:
        assert await codes(each) == ["anchor.submitted", "anchor.submitted", *taken_back]
    assert world.paid == 1
    await check(app)


async def test_a_lie_of_a_calendar_is_told_and_a_block_of_bitcoin_that_is_gone_confirms_nothing(
    world: World, app: App, admin: Admin
) -> None:
    [document] = await protect(app, "bitcoin", "polygon", count=1)
    for calendar in world.calendars:
        calendar.lie(2)
    world.bitcoin.grow(8)
    await look(app, admin)
    view = await document.view()
    assert view.state is State.PROTECTED
    assert "an attestation leads to another root than that of Bitcoin regtest block 2" in view.explain
    for calendar in world.calendars:
        calendar.forget_blocks()
    height = world.calendars[0].anchor(world.bitcoin)
    world.bitcoin.grow(6)
    await work(app, admin, [document], State.REINFORCED)
    assert "Its batch waits" in (await document.view()).explain, "that on Polygon"
    world.bitcoin.ask("invalidateblock", world.bitcoin.ask("getblockhash", height))
    world.bitcoin.grow(8)
    await work(app, admin, [document], State.PROTECTED)
    assert "The last attempt ended with reorged" in await document.explain()
    world.calendars[0].forget_blocks()
    world.calendars[0].anchor(world.bitcoin)
    world.bitcoin.grow(6)
    await work(app, admin, [document], State.REINFORCED)
    assert (await codes(document))[2:] == [
        "anchor.confirmed", "reorged", "anchor.submitted", "anchor.confirmed"
    ]  # fmt: skip
    await check(app)


async def test_calendars_that_answer_garbage_are_named_and_asked_again(
    world: World, app: App, admin: Admin
) -> None:
    for each in world.calendars:
        each.answer = b"<html>"
    [document] = await protect(app, "bitcoin", "polygon", count=1)
    await look(app, admin)
    told = await document.explain()
    assert "no calendar accepted the root" in told
    assert all(each.url in told for each in world.calendars)
    for each in world.calendars:
        each.answer = None
    await look(app, admin)
    world.calendars[1].anchor(world.bitcoin)
    world.bitcoin.grow(6)
    await work(app, admin, [document], State.REINFORCED)
    await check(app)


async def test_a_calendar_that_is_down_is_named_and_the_other_one_confirms(
    world: World, app: App, admin: Admin
) -> None:
    down, up = world.calendars
    down.status, up.status = 503, 503
    [document] = await protect(app, "bitcoin", "polygon", count=1)
    await look(app, admin)
    told = await document.explain()
    assert down.url in told
    assert "HTTP status 503" in told
    up.status = None
    async with asyncio.timeout(240):  # a bound for a busy machine
        while not up.promised:
            await app.anchors.flush("bitcoin")
            await again(app, admin)
    assert "no calendar has a Bitcoin block for the root yet" in await document.explain()
    up.anchor(world.bitcoin)
    world.bitcoin.grow(6)
    await work(app, admin, [document], State.REINFORCED)
    await check(app)


async def test_a_slow_checkpoint_of_rekor_is_explained_and_waited_for(
    world: World, app: App, admin: Admin
) -> None:
    world.log.automatic = False
    world.log.behave("lost", "honest")
    [document] = await protect(app, "rekor", "bitcoin", count=1)
    await again(app, admin)
    view = await document.view()
    assert view.state is State.PROTECTED
    assert "checkpoint of 10 entries does not cover entry 10" in view.explain
    world.log.automatic = True
    world.log.publish()
    await work(app, admin, [document], State.REINFORCED)
    assert (await codes(document)).count("rekor.confirmed") == 1
    await check(app)


async def test_an_entry_of_rekor_that_is_not_ours_confirms_nothing(
    world: World, app: App, admin: Admin
) -> None:
    world.log.behave("another entry")
    [document] = await protect(app, "rekor", "bitcoin", count=1)
    await look(app, admin)
    told = await document.explain()
    assert "proof_invalid" in told
    assert {*await codes(document)} == {"proof_invalid", "anchor.submitted"}
    world.log.behave("honest")
    await document.retry("rekor")
    await work(app, admin, [document], State.REINFORCED)
    assert (await codes(document)).count("rekor.confirmed") == 1
    await check(app)


async def test_an_entry_that_rekor_refuses_is_tried_again_and_one_that_it_knows_is_recovered(
    world: World, app: App, admin: Admin
) -> None:
    world.log.behave("400", "409")
    [document] = await protect(app, "rekor", "bitcoin", count=1)
    await work(app, admin, [document], State.REINFORCED)
    assert {"log_refused", "rekor.confirmed"} <= {*await codes(document)}
    assert (await codes(document)).count("rekor.confirmed") == 1
    details = [each.detail or "" for each in await app.anchors.list(network="rekor")]
    assert sum("HTTP status 400" in each for each in details) == 1
    await check(app)


async def test_a_key_of_the_log_that_was_rotated_is_named_and_nothing_is_sent(
    world: World, app: App, admin: Admin
) -> None:
    world.log.rotate()
    [document] = await protect(app, "rekor", "bitcoin", count=1)
    await look(app, admin)
    view = await document.view()
    assert view.state is State.PROTECTED
    assert "if its key was rotated, set FOJA_REKOR_KEY" in view.explain
    assert view.explain.count("FOJA_REKOR_KEY") == 1, "said once"
    assert not await app.anchors.list(network="rekor")
    await check(app)


async def test_without_a_balance_nothing_is_sent_and_only_polygon_is_blamed(
    world: World, app: App, admin: Admin
) -> None:
    world.chain.ask("anvil_setBalance", ACCOUNT, "0x0")
    [document] = await protect(app, "polygon", "bitcoin", count=1)
    told = await document.explain()
    polygon, bitcoin = told.split("Waiting for the anchor on Bitcoin")
    assert "has 0.000000 POL" in polygon
    assert "POL" not in bitcoin
    assert world.paid == 0
    world.chain.ask("anvil_setBalance", ACCOUNT, hex(10**20))
    await app.anchors.flush("polygon")
    await app.work(until_idle=True)
    world.mine()
    await work(app, admin, [document], State.REINFORCED)
    assert world.paid == 1
    await check(app)


async def test_a_network_that_is_disabled_finishes_its_batches_and_takes_no_other(
    world: World, app: App, admin: Admin
) -> None:
    [document] = await protect(app, "polygon", "bitcoin", count=1)
    assert await app.anchors.disable("polygon")
    with pytest.raises(Refused, match="cannot produce polygon"):
        await protect(app, "polygon", count=1)
    world.mine()
    await work(app, admin, [document], State.REINFORCED)
    assert world.paid == 1
    await check(app)
