"""Looks at a page as a person would: at a width, in a theme, in a language; and as axe-core does."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.counterparties.npm import installed
from tests.flow.chromium import Page

LANGUAGES, THEMES, WIDTHS = ("en", "es"), ("light", "dark"), (390, 1280)
# Every element that can be clicked and is smaller than 24 by 24 pixels, unless it is a part of a sentence.
SMALL = """Array.from(document.querySelectorAll('main button, main input, main select, nav a, a.button'))
  .filter(each => each.checkVisibility())
  .map(each => [each, each.getBoundingClientRect()])
  .filter(([each, box]) => !each.closest('label') && (box.width < 24 || box.height < 24))
  .map(([each]) => each.outerHTML.slice(0, 120))"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SHIFT = "window.shift ?? 0"
WATCH_SHIFT = """new PerformanceObserver(list => {
  const own = list.getEntries().filter(each => !each.hadRecentInput);
  window.shift = own.reduce((sum, each) => sum + each.value, window.shift ?? 0);
}).observe({ type: 'layout-shift', buffered: true })"""


def axe_source() -> str:
    """Return the text of axe-core; skip if npm cannot install it."""
    return (installed("axe-core") / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


async def set_up(page: Page, width: int, theme: str) -> None:
    """Give a tab a width and a theme."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    await page.browser.send("Emulation.setDeviceMetricsOverride", page.session, **size)
    features = [
        {"name": "prefers-color-scheme", "value": theme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    await page.browser.send("Emulation.setEmulatedMedia", page.session, features=features)


async def visit(page: Page, address: str, **parameters: str) -> None:
    """Load an address and wait until all of it is there."""
    mark = f"{address} {parameters}"
    joined = f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"
    await page.value("window.leftover = true")
    await page.browser.send("Page.navigate", page.session, url=joined)
    await page.until("!window.leftover && document.readyState === 'complete'", 60)
    await page.value(f"window.visited = {json.dumps(mark)}")


async def violations(page: Page, source: str) -> list[Any]:
    """Return what axe-core finds, each rule with the elements that break it."""
    await page.value(source + "; undefined")
    found = await page.value(
        "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations.map("
        "each => [each.id, each.nodes.map(node => node.html.slice(0, 200) + ' ' + node.failureSummary)]))"
    )
    return list(found)


async def picture(page: Page, path: Path) -> None:
    """Save a picture of the whole page."""
    values = {"format": "png", "captureBeyondViewport": True}
    data = (await page.browser.send("Page.captureScreenshot", page.session, **values))["data"]
    path.write_bytes(base64.b64decode(data))
