"""Every page in a real browser, in both languages, both themes and at both widths.

With `-o tmp_path_retention_policy=all` the pictures are kept below pytest's folder (`look/`); look at
them after a change of the design.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from foja.app import App
from tests.flow.chromium import PROGRAM, Browser, Page, chromium
from tests.flow.pages.look import (
    LANGUAGES,
    OVERFLOW,
    SHIFT,
    SMALL,
    THEMES,
    WATCH_SHIFT,
    WIDTHS,
    axe_source,
    picture,
    set_up,
    violations,
    visit,
)
from tests.flow.pages.test_forms import addresses, filled

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
MOST_SHIFT = 0.02  # of the first second; a person does not see less
BROKEN = """document.body.innerHTML = '<img src=x><p>pale</p><button></button>';
  document.querySelector('p').style.cssText = 'color: #ccc; background: #fff'"""


async def check(page: Page, where: object, axe: str) -> None:
    """Fail if a page is wider than its window, has targets that are too small, or breaks a rule of axe."""
    assert await page.value(OVERFLOW) <= 0, where
    assert await page.value(SMALL) == [], where
    assert await violations(page, axe) == [], where
    assert await page.value("window.evil ?? null") is None


def faults(browser: Browser) -> list[str]:
    """Return the errors of the browser, apart from the page that does not exist on purpose."""
    return [
        each for each in browser.errors if "no-id" not in json.loads(each).get("entry", {}).get("url", "")
    ]


@pytest.mark.long
async def test_every_page_looks_right_everywhere(open_app: Callable[..., App], tmp_path: Path) -> None:
    folder, axe = tmp_path / "look", axe_source()
    folder.mkdir()
    async with filled(open_app) as (_, scene, client), chromium(tmp_path) as browser:
        page = await browser.open("about:blank")
        await browser.send("Page.addScriptToEvaluateOnNewDocument", page.session, source=WATCH_SHIFT)
        for theme in THEMES:
            for width in WIDTHS:
                await set_up(page, width, theme)
                for language in LANGUAGES:
                    for path in addresses(scene):
                        await visit(page, f"{client.base_url}{path}", lang=language)
                        name = path.strip("/").replace("/", "-").replace("?", "-")[:40] or "overview"
                        await picture(page, folder / f"{name}-{language}-{theme}-{width}.png")
                        await check(page, (path, language, theme, width), axe)
                        assert await page.value(SHIFT) <= MOST_SHIFT, (path, language, theme, width)
        assert faults(browser) == []
        await page.value(BROKEN)
        assert {rule for rule, _ in await violations(page, axe)} >= {
            "image-alt",
            "button-name",
            "color-contrast",
        }


async def test_some_pages_look_right(open_app: Callable[..., App], tmp_path: Path) -> None:
    """A part of the long test: each language, theme and width once."""
    axe = axe_source()
    async with filled(open_app) as (_, scene, client), chromium(tmp_path) as browser:
        page = await browser.open("about:blank")
        for theme, width, language in (("light", 1280, "en"), ("dark", 390, "es")):
            await set_up(page, width, theme)
            for path in ("/", "/documents", f"/documents/{scene.document}", f"/galleries/{scene.product}"):
                await visit(page, f"{client.base_url}{path}", lang=language)
                await check(page, (path, language, theme, width), axe)
        assert faults(browser) == []
        await visit(page, f"{client.base_url}/", lang="en")
        await page.value("location.hash = 'menu'")  # the menu of a phone needs no script
        assert await page.value("document.querySelector('nav a[href=\"/jobs\"]').checkVisibility()")
        await page.value("document.querySelector('nav .close').click()")
        assert not await page.value("document.querySelector('nav a[href=\"/jobs\"]').checkVisibility()")
