"""`/design`: the type, the colours and every component of the pages, on one page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from starlette.responses import Response

from foja.interfaces.web.pages.frame.charts import Bar, bars, line
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute

TONES: Final = ("good", "warn", "info", "bad")
WHEN: Final = datetime(2026, 11, 17, 11, 20, tzinfo=UTC)  # an example must not change with the clock


async def design(page: Page) -> Response:
    """Show every component once, with texts that fit none of the data here."""
    volumes = [Bar(f"{hour:02}:00", 3 + hour * 7 % 11, hour % 5 == 0) for hour in range(24)]
    return page.render(
        "design.html",
        "design",
        tones=TONES,
        when=WHEN,
        volume=bars(volumes, page.language),
        latency=line([(each.label, 4 + each.count % 7) for each in volumes], page.language),
    )


PAGES = (PageRoute("GET /design", design, anyone=True),)
