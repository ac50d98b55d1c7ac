"""`foja demo --seed`: an installation worth looking at, always the same, and a second run adds nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from foja.app import App
from foja.engine.observe.audit import audit
from foja.interfaces.cli.demo.seed import conversations, galleries
from foja.interfaces.cli.demo.seed.seed import fill
from tests.flow.command import Run


async def kinds(app: App, conversation_id: object) -> Counter[str]:
    talk = await app.conversations.open(str(conversation_id))
    events = await talk.events()
    assert [event.seq for event in events] == [*range(len(events))]
    return Counter(event.kind for event in events)


async def states(app: App) -> Counter[tuple[str, str | None]]:
    found: Counter[tuple[str, str | None]] = Counter()
    for row in await app.documents.list():
        found[row.state, row.pipeline] += 1
    return found


async def test_it_shows_every_state_and_a_second_run_adds_nothing(app: App) -> None:
    assert await fill(app) == {"documents": 10, "conversations": 4, "galleries": 3}
    before = await states(app)
    assert before == {
        ("final", None): 9,  # three texts, the revoked one, two versions, a digest, a transcript, a gallery
        ("protected", None): 1,
        ("none", None): 1,
        ("none", "awaiting_tsa"): 1,
    }
    [lost] = await app.documents.list(state="given_up")
    assert lost.name == "demo-delivery-note.txt"
    assert await fill(app) == {"documents": 0, "conversations": 0, "galleries": 0}
    assert await states(app) == before
    await check_conversations(app)
    await check_galleries(app)
    assert not await app.jobs.paused()
    report = await audit(app.settings.database_url, max_lag_seconds=60)
    assert report.clean, report.document()


async def check_conversations(app: App) -> None:
    delivery = await kinds(app, conversations.DELIVERY)
    assert (delivery["tool_use_requested"], delivery["tool_use_completed"]) == (3, 3)
    assert (await kinds(app, conversations.TRIP))["slot.voided"] == 2
    refund = await app.conversations.open(conversations.REFUND)
    decided = {each.id: each.state for each in await refund.approvals()}
    assert decided == {"refund-1": "approved", "refund-2": "denied", "voucher-3": "requested"}


async def check_galleries(app: App) -> None:
    chairs = await app.images.list(galleries.CHAIRS)
    assert chairs[0].alt == "A chair of steel"
    assert [image.order for image in chairs] == [0, 1, 2, 3]
    assert {(await app.images.rendering(image)).status for image in chairs} == {"success"}
    lamps = await app.images.list(galleries.LAMPS)
    assert [image.alt for image in lamps] == ["A lamp of steel", "A lamp with a shade of oak"]
    external = (await app.images.list(galleries.TABLES))[1]
    assert str((await app.images.rendering(external)).skipped).startswith("external")


@pytest.mark.usefixtures("home")
def test_the_command_prints_what_was_added(run: Run) -> None:
    assert run("demo", "--seed").lines[0] == "10 documents added"
    again = run("demo", "--seed")
    assert again.lines[0] == "everything was there already; nothing was added"
    assert run("demo", "--seed", "--json").document["documents"] == 0
