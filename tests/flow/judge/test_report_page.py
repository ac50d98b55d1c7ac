"""The page of a report in a real browser: phone, desktop and paper."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import foja
from foja.pure.judge.render import as_html
from foja.pure.judge.report import Report, Subject
from tests.flow.chromium import PROGRAM, Page, chromium
from tests.rules.all_proofs import all_proofs
from tests.rules.bundles import NOW

AT = NOW + timedelta(hours=1)
WIDTHS = (320, 390, 700, 1000, 1280)
# Every whole word that is shown on two lines; digests, paths and code may be.
BROKEN = """(() => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest('code, .mono, details')) continue;
    for (const word of node.data.matchAll(/(?<![^\\s(“])\\p{L}+(?![^\\s).,:;”])/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(each => each.top)).size > 1) found.push(word[0]);
    }
  }
  return found;
})()"""
# Every element that reaches beyond the right edge.
BEYOND = """[...document.querySelectorAll('body *')]
  .filter(each => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(each => each.outerHTML.slice(0, 80))"""


def reports() -> dict[str, Report]:
    proofs = all_proofs()
    passed = foja.verify(proofs.bundle, proofs.trust, AT)
    unnamed = Subject(passed.subject.sha256)
    return {
        "passed": passed,
        "undecided": foja.verify(proofs.bundle, (), AT),
        "failed": foja.verify(proofs.bundle, proofs.trust, AT, digest="0" * 64),
        "unnamed": replace(passed, subject=unnamed),
    }


async def resized(page: Page, width: int, media: str = "screen") -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    await page.browser.send("Emulation.setDeviceMetricsOverride", page.session, **size)
    await page.browser.send("Emulation.setEmulatedMedia", page.session, media=media)


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
async def test_the_page_fits_phone_desktop_and_paper(tmp_path: Path) -> None:
    """Nothing overflows, no word is broken, and the first sentence is on the first screen."""
    async with chromium(tmp_path) as browser:
        for name, report in reports().items():
            for language in ("en", "es"):
                path = tmp_path / f"{name}-{language}.html"
                path.write_text(as_html(report, language), encoding="utf-8")
                page = await browser.open(path.as_uri())
                await page.until("document.querySelector('details') !== null")
                for width in WIDTHS:
                    await resized(page, width)
                    assert await page.value(BEYOND) == [], (name, language, width)
                    assert await page.value(BROKEN) == [], (name, language, width)
                    bottom = "document.querySelector('h1').getBoundingClientRect().bottom"
                    assert await page.value(bottom) < 800
                await resized(page, 794, "print")
                assert await page.value(BEYOND) == []
                assert (
                    await page.value("getComputedStyle(document.querySelector('details')).display") == "none"
                )
        assert browser.errors == []


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
async def test_a_long_name_and_a_long_reason_do_not_break_the_page(tmp_path: Path) -> None:
    """Untrusted text of any length wraps."""
    report = reports()["passed"]
    path = tmp_path / "long.html"
    path.write_text(as_html(replace(report, subject=Subject(b"\x00" * 32, "x" * 255))), encoding="utf-8")
    async with chromium(tmp_path) as browser:
        page = await browser.open(path.as_uri())
        await page.until("document.querySelector('details') !== null")
        for width in WIDTHS:
            await resized(page, width)
            assert await page.value(BEYOND) == []
