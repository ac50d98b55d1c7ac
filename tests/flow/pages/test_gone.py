"""A page whose server is gone says so, and of when it is; an address without a page is answered by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from foja.app import App
from foja.interfaces.web.server import address, bind, serving
from tests.flow.chromium import PROGRAM, chromium
from tests.flow.client.client import served

BANNER = "document.getElementById('stale').checkVisibility()"
TEXT = "document.getElementById('stale').innerText"
WORDS = {
    "en": r"The server does not answer\. What you see is of \d\d:\d\d:\d\d\.",
    "es": r"El servidor no responde\. Lo que ve es de las \d\d?:\d\d:\d\d\.",
}


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
async def test_open_pages_say_that_the_server_is_gone(open_app: Callable[..., App], tmp_path: Path) -> None:
    """An overview stayed green for minutes after its server was killed."""
    async with open_app() as app, chromium(tmp_path) as browser, AsyncExitStack() as first:
        listener = bind("127.0.0.1", 0, expose=False)
        url, port = address(listener), listener.getsockname()[1]
        await first.enter_async_context(serving(app, listener))
        pages = {
            "en": await browser.open(f"{url}/?lang=en"),
            "es": await browser.open(f"{url}/verify?lang=es"),  # which nothing refreshes
        }
        for page in pages.values():
            await page.until(
                "document.readyState === 'complete' && document.getElementById('stale') !== null"
            )
            assert not await page.value(BANNER)
        await first.aclose()
        listener.close()
        for language, page in pages.items():
            await page.browser.send("Page.bringToFront", page.session)
            await page.until(BANNER)
            assert re.fullmatch(WORDS[language], await page.value(TEXT))
            await page.picture(tmp_path / f"gone-{language}.png")
        async with AsyncExitStack() as again:
            listener = bind("127.0.0.1", port, expose=False)
            again.callback(listener.close)
            await again.enter_async_context(serving(app, listener))
            for page in pages.values():
                await page.browser.send("Page.bringToFront", page.session)
                await page.until(f"!{BANNER}")


async def test_an_unknown_address_is_a_page_for_a_person(app: App) -> None:
    """A browser was shown raw JSON; a program still gets a problem document."""
    async with served(app) as client:
        for language, words in (("en", "There is no page at this address"), ("es", "No hay ninguna página")):
            accept = {"Accept": "text/html,*/*;q=0.8", "Accept-Language": language}
            page = await client.get("/nothing/here", headers=accept)
            assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
            assert words in page.text
            assert '<a class="button primary" href="/">' in page.text
        answer = await client.get("/nothing/here")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
        assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == (
            "no-store",
            "nosniff",
        )
