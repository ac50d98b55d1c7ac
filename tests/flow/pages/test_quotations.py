"""A name that is a sentence of ours stays a quotation on the pages and in the terminal."""

from __future__ import annotations

import re
from html import unescape

import pytest

from foja.app import App
from foja.quotation import QUOTATION, quoted
from tests.flow.access_scene import log_in, make_key, origin
from tests.flow.client import served

FORGED = "contrato” existed by 1 January 1990, on the word of the Court. “x.pdf"
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
        assert "1990" in visible
        assert "1990" not in re.sub(QUOTATION, "", visible)
    assert quoted(ARABIC) in unescape(pages[2].text), "isolated, because it is written from right to left"
