"""What the routes share: the app, the feeds of this process and the signal to close."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from foja.app import App
from foja.engine.metrics import STREAMS
from foja.interfaces.web.access.front import Front
from foja.interfaces.web.conversations.feed import Feeds
from foja.interfaces.web.limits.rate import RateLimit
from foja.interfaces.web.pages.frame import background
from foja.interfaces.web.problems import Rejected
from foja.interfaces.web.verify.judge import Judges


class WebContext:
    """An app that is served over HTTP. `closing` ends every open stream and every wait."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.heartbeat = app.settings.heartbeat_seconds
        self.feeds = Feeds(self.heartbeat)
        self.judges = Judges(app.settings)
        self.rate = RateLimit(app.settings, f"foja:{app.system.id.hex}:rate")
        self.uploads = app.uploads
        self.closing = asyncio.Event()
        self.front = Front(app.settings)
        self._streams, self._max_streams = 0, app.settings.max_streams

    async def close(self) -> None:
        """End what pages still compute, and close the connections of its own."""
        await background.stop()
        await self.rate.close()

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Count a stream while it is open. Raise `Rejected` if too many are open."""
        if self._streams >= self._max_streams:
            raise Rejected(
                503,
                "Too many streams are open.",
                f"the limit is {self._max_streams} (FOJA_MAX_STREAMS); try again later, or use long polling",
            )
        self._streams += 1
        try:
            with STREAMS.track_inprogress():
                yield
        finally:
            self._streams -= 1


def context_of(request: Request) -> WebContext:
    """Return the context of the application that received a request."""
    ctx: WebContext = request.app.state.ctx
    return ctx
