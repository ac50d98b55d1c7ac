"""A conversation in a real browser: after reloads and cuts, the page equals a fresh load."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.interfaces.cli.chat.transcript import Deadlines, groups
from foja.interfaces.web.pages import conversations as pages
from foja.pure.models.conversations.pairs import group
from foja.pure.models.conversations.view import ConversationView
from tests.flow.chromium import PROGRAM, Page, chromium
from tests.flow.client.client import served
from tests.flow.http.cut_relay import cut_relay

SHOWN = "document.getElementById('view').innerHTML"
ARTICLES = "Array.from(document.querySelectorAll('article'), (each) => each.dataset)"
STATES = f"{ARTICLES}.map((data) => [data.kind, data.state ?? null])"
LIVE = "document.getElementById('connection').dataset.state === 'live'"
OFFLINE = "document.getElementById('connection').dataset.state === 'offline'"
EVIL = "<script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"


def seen(kind: str, text: str = "") -> str:
    """Return an expression that is true if the page shows an item of a kind."""
    return (
        f"Array.from(document.querySelectorAll('article[data-kind=\"{kind}\"]'))"
        f".some(each => each.innerText.includes({text!r}))"
    )


async def chunks(conversation: Conversation, kind: str, block: int, *texts: str, start: int = 0) -> None:
    for index, text in enumerate(texts, start):
        await conversation.emit(kind, {"text": text}, turn="t1", block_index=block, event_index=index)


async def show_chunks(page: Page, conversation: Conversation, kind: str, block: int, *texts: str) -> None:
    """Emit these until the page shows the last: a transient is lost where nobody listens yet."""
    async with asyncio.timeout(60):
        while not await page.value(seen(kind, texts[-1])):
            await chunks(conversation, kind, block, *texts)
            await asyncio.sleep(0.2)


def result(name: str) -> dict[str, object]:
    done = {"tool_use_id": name, "tool_name": name, "tool_result": {"of": name}, "success": True}
    return {**done, "error_message": None, "turn": "t1"}


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
async def test_after_reloads_and_cuts_the_page_equals_a_fresh_load(
    app: App, open_app: Callable[..., App], tmp_path: Path
) -> None:
    async with (
        open_app() as elsewhere,
        served(app) as client,
        cut_relay(str(client.base_url)) as (address, relay),
        chromium(tmp_path) as browser,
    ):
        conversation = await elsewhere.conversations.open()  # so that events come through another app
        place = {"turn": "t1"}
        page = await browser.open(f"{address}/conversations/{conversation.id}")
        await page.until(LIVE)
        await conversation.append("user_message_sent", {"content": EVIL})
        await page.until(seen("user_message_sent", "evil"))
        await show_chunks(page, conversation, "thinking_chunk", 0, "let ", "me ", "see")

        await page.reload()  # in the middle of a turn
        await page.until(LIVE)
        await conversation.append("thinking", {"content": "let me see", **place, "block_index": 0})
        await page.until(seen("thinking", "see"))  # earlier transient events may be missed
        await show_chunks(page, conversation, "message_chunk", 1, "I ", "look")

        relay.away = True  # the network is gone …
        relay.cut()
        await page.until(OFFLINE)
        await chunks(conversation, "message_chunk", 1, " it ", "up", start=2)
        await conversation.append(
            "agent_message_sent", {"content": "I look it up", **place, "block_index": 1}
        )
        for name in ("track", "mail"):
            request = {"tool_use_id": name, "tool_name": name, "tool_args": {"n": 1}, **place}
            await conversation.append("tool_use_requested", request)
        slots = await conversation.reserve(2, ttl=600, intents=["track", "mail"])
        relay.away = False  # … and is back
        await page.until(seen("slot.open", "mail"))

        await slots.fill(1, "tool_use_completed", result("mail"))
        await page.until(seen("tool_use_completed", "mail"))
        await page.reload()  # in the middle of a tool call: one is done, the other open
        await page.until(seen("slot.open", "track"))
        await page.until(LIVE)  # a connection that is only being made is not cut

        await page.offline(away=True)  # gone again: the connections end, and the browser itself is offline
        relay.cut()
        await page.until(OFFLINE)
        await slots.fill(0, "tool_use_completed", result("track"))
        approval = await conversation.request_approval("refund", {"amount": 5}, ttl=600, turn="t1")
        await conversation.decide(approval.id, "denied", reason="too much", actor="boss")
        await page.offline(away=False)
        await page.until(seen("approval_completed", "too much"))

        await show_chunks(page, conversation, "message_chunk", 5, "in ", "Lima")
        await conversation.append("agent_message_sent", {"content": "in Lima", **place, "block_index": 5})
        await chunks(conversation, "message_chunk", 5, " (late)", start=2)  # after the persisted event
        await conversation.emit("complete", {}, turn="t1")
        await page.until(seen("agent_message_sent", "in Lima"))
        await check_as_fresh(
            page, await browser.open(f"{address}/conversations/{conversation.id}"), conversation
        )
        assert relay.cuts
        assert await page.value("window.evil ?? null") is None


async def check_as_fresh(page: Page, fresh: Page, conversation: Conversation) -> None:
    """Compare the page with a fresh one, and both with the view in Python."""
    events = await conversation.events()
    shown = [item for each in group(ConversationView(events).items()) for item in each]
    expected = [[item["kind"], item["state"]] for item in shown]
    encoded = json.dumps(expected, separators=(",", ":"))
    for each in (page, fresh):
        await each.until("document.getElementById('view').dataset.complete === 'yes'")
        await each.until(f"JSON.stringify({STATES}) === {encoded!r}")
    await asyncio.sleep(0.3)  # for late events
    assert await page.value(SHOWN) == await fresh.value(SHOWN)
    assert await page.value(STATES) == expected


async def test_the_page_has_two_languages_and_runs_only_its_own_script(app: App) -> None:
    conversation = await app.conversations.open()
    async with served(app) as client:
        path = f"/conversations/{conversation.id}"
        for headers, lang in [({}, "en"), ({"Accept-Language": "fr, es-PE;q=0.9, en;q=0.8"}, "es")]:
            answer = await client.get(path, headers=headers)
            assert f'<html lang="{lang}">' in answer.text
        assert '<html lang="es">' in (await client.get(f"{path}?lang=es")).text
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        listed = await client.get("/", follow_redirects=True)
        assert listed.status_code == 200
        script = await client.get("/static/foja.js")
        again = await client.get("/static/foja.js", headers={"If-None-Match": script.headers["etag"]})
        assert (script.status_code, again.status_code) == (200, 304)
        assert script.headers["content-type"].startswith("text/javascript")
        for missing in ("/static/../page.py", "/static/page.py", "/conversations/no-id"):
            assert (await client.get(missing)).status_code == 404


PLACES = f"{ARTICLES}.map((data) => data.key)"


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
async def test_results_are_below_their_requests(app: App, tmp_path: Path) -> None:
    """The page pairs requests and results as `foja chat show` does, whatever their numbers."""
    conversation = await app.conversations.open()
    await conversation.append("user_message_sent", {"content": "go"})
    slots = await conversation.reserve(3, ttl=600)
    for ordinal, name in enumerate(("a", "b", "c")):
        request = {"tool_use_id": name, "tool_name": name, "tool_args": {}, "result_seq": slots.seqs[ordinal]}
        await conversation.append("tool_use_requested", request)
    await slots.fill(1, "tool_use_completed", result("b"))
    await slots.void(2, reason="denied")
    lines = groups(ConversationView(await conversation.events()).items(), Deadlines())
    printed = [f"seq {line.seq}" for each in lines for line in each]
    assert printed == ["seq 0", "seq 4", "seq 1", "seq 5", "seq 2", "seq 6", "seq 3"]
    async with served(app) as client, chromium(tmp_path) as browser:
        page = await browser.open(f"{client.base_url}/conversations/{conversation.id}")
        encoded = json.dumps(printed, separators=(",", ":"))
        await page.until(f"JSON.stringify({PLACES}) === {encoded!r}")
        below = "Array.from(document.querySelectorAll('article.answer'), (each) => each.dataset.key)"
        assert await page.value(below) == ["seq 1", "seq 2", "seq 3"]


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
async def test_an_approval_is_decided_with_a_button(app: App, tmp_path: Path) -> None:
    """An empty conversation says so; events have times; an approval has buttons while it waits."""
    conversation = await app.conversations.open()
    async with served(app) as client, chromium(tmp_path) as browser:
        page = await browser.open(f"{client.base_url}/conversations/{conversation.id}")
        await page.until("document.getElementById('empty').checkVisibility()")
        assert await page.value("document.getElementById('empty').innerText") == "no messages yet"
        for name, decision in (("a/1?", "approved"), ("ñ#2", "denied")):
            await conversation.request_approval("refund", {"amount": 5}, ttl=600, approval_id=name)
            await page.until(f"document.querySelector('button[value={decision}]') !== null")
            assert not await page.value("document.getElementById('empty').checkVisibility()")
            assert await page.value("document.querySelector('article time').dateTime")
            await page.value(f"document.querySelector('button[value={decision}]').click()")
            await page.until(
                f"document.querySelectorAll('article.answer[data-state={decision}]').length === 1"
            )
            await page.until("document.querySelector('button') === null")
            assert (await conversation.approval(name)).state == decision


async def test_the_list_has_last_messages_and_times(app: App) -> None:
    """Who said what, and when; content is text, never markup."""
    said, silent = await app.conversations.open(), await app.conversations.open()
    await silent.reserve(1)
    await said.append("user_message_sent", {"content": "first"})
    last = await said.append("agent_message_sent", {"content": [{"text": EVIL + "x" * 500}]}, actor="<b>bot")
    await said.append("turn_paused", {"reason": "later"})
    async with served(app) as client:
        shown = (await client.get("/conversations")).text
        assert "<script>window" not in shown
        assert "“&lt;b&gt;bot”</bdi></b> “&lt;script&gt;window.evil" in shown
        assert last.at
        assert f"{last.at.day} {last.at:%B %Y, %H:%M} UTC" in shown
        assert "events: 3" in shown
        assert "no messages yet" in shown
        assert "todavía no hay mensajes" in (await client.get("/conversations?lang=es")).text
        assert "x" * 200 not in shown


async def test_the_list_goes_on(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older conversations are behind a link."""
    monkeypatch.setattr(pages, "LIST_LIMIT", 2)
    made = [await app.conversations.open() for _ in range(3)]
    for each in made:
        await each.append("user_message_sent", {"content": f"of {each.id}"})
    async with served(app) as client:
        first = (await client.get("/conversations")).text
        found = re.search(r'href="(/conversations\?before=[^"]+)"', first)
        assert found
        rest = (await client.get(found[1].replace("&amp;", "&"))).text
    assert sum(f"of {each.id}" in first for each in made) == 2
    assert sum(f"of {each.id}" in rest for each in made) == 1
    assert "Older conversations" not in rest
