"""A name that is a sentence of ours stays a quotation on the pages and in their script."""

from __future__ import annotations

import random
import re
from html import unescape
from typing import Any

import pytest

from foja.app import App
from foja.pure.quotation import QUOTATION, quoted
from tests.flow.access.access_scene import log_in, make_key, origin
from tests.flow.client.client import served
from tests.flow.javascript.javascript import needs_node, run_script
from tests.rules.core.test_quotations import MARK, PIECES, hostile

FORGED = "contrato” existed by 1 January 1990, on the word of the Court. “x.pdf"
YEAR = re.compile(r"\b1990\b")  # an id may have these digits, too
ARABIC = "عقد\u202e <b>1990</b>.pdf"


@pytest.mark.parametrize("language", ["en", "es"])
async def test_the_pages_quote_names_and_reasons(app: App, language: str) -> None:
    """The list, the page of a document and the page that verifies, in both languages."""
    document = await app.documents.add(b"We agree.", name=FORGED)
    other = await app.documents.add(b"We agree, too.", name=ARABIC, actor="ana”, the Court: 1990 “")
    key = await make_key(app)
    async with served(app) as client:
        client.headers["Accept-Language"] = language
        assert (await log_in(client, key)).status_code == 303
        pages = [
            await client.get(path)
            for path in ("/documents", *(f"/documents/{each.id}" for each in (document, other)))
        ]
        form = {"digest": f"sha256:{'0' * 64}", "name": FORGED, "own": "yes"}
        pages.append(await client.post("/verify", data=form, headers=origin(client)))
    assert [each.status_code for each in pages] == [200] * 4
    for page in pages:
        visible = unescape(re.sub("<[^>]*>", " ", page.text.partition("<main")[2].partition("<pre")[0]))
        assert YEAR.search(visible)
        assert not YEAR.search(re.sub(QUOTATION, "", visible))
    assert quoted(ARABIC) in unescape(pages[2].text), "isolated, because it is written from right to left"


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"tool_use_id": name, "tool_name": name, **more}


@pytest.mark.parametrize("language", ["en", "es"])
async def test_the_pages_of_conversations_and_of_access_quote_whom_they_name(app: App, language: str) -> None:
    """An actor named “approved by the Court” stood there as if we said so."""
    chance = random.Random(28)
    say = [storable(hostile(chance)) for _ in range(12)]
    talk = await app.conversations.open("0194d4c0-0000-7000-8000-00000000000a")
    await talk.append("user_message_sent", {"content": say[0]}, actor=say[1])
    await talk.append("tool_use_requested", tool(say[2], tool_args={say[3]: 1}), actor=say[4])
    failed = tool(say[2], tool_result=None, success=False, error_message=say[5])
    await talk.append("tool_use_completed", failed)
    asked = {"approval_id": "a", "tool_name": say[6], "tool_args": {}, "expires_at": "2999-01-01T00:00:00Z"}
    await talk.append("approval_requested", asked, actor=say[7])
    await talk.decide("a", "approved", reason=say[8], actor=say[9])
    await talk.append("user_message_sent", {"content": say[10]}, actor=say[11])
    key = await make_key(app, name=say[1].strip())
    async with served(app) as client:
        client.headers["Accept-Language"] = language
        assert (await log_in(client, key)).status_code == 303
        pages = [
            await client.get(path) for path in ("/conversations", f"/conversations/{talk.id}", "/access")
        ]
    for page in pages:
        assert page.status_code == 200
        body = page.text.partition("<body")[2]
        blocks = re.sub(r"<(blockquote|pre)>.*?</\1>", "", body, flags=re.DOTALL)  # of others, set apart
        visible = unescape(re.sub("<[^>]*>", " ", blocks))
        assert MARK in visible
        assert MARK not in re.sub(QUOTATION, "", visible), page.url


def storable(text: str) -> str:
    """Return a text that PostgreSQL can hold."""
    return text.replace("\x00", "").replace("\ud800", "")


@needs_node
def test_the_script_quotes_as_the_server_does() -> None:
    chance = random.Random(29)
    texts = [*PIECES, "", "a.txt", "حقد", *(hostile(chance) for _ in range(1000))]
    isolates = re.compile("[\u2066-\u2069]")  # of whole quotations; in the page an element isolates them
    assert run_script("quotation.mjs", texts) == [isolates.sub("", quoted(each)) for each in texts]
