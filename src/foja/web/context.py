"""What the routes share: the app, the feeds of this process, and the word that it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import Request

from foja.app import App
from foja.conversations.service import Conversation
from foja.metrics import STREAMS
from foja.web.conversations.feed import Feeds
from foja.web.problems import Rejected


class WebContext:
    """One app behind HTTP. `closing` ends every open stream and every wait."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.beat = app.settings.heartbeat_seconds
        self.feeds = Feeds(app.ledger, self.beat)
        self.closing = asyncio.Event()
        self._streams, self._most = 0, app.settings.max_streams

    async def conversation(self, name: str) -> Conversation:
        """Return the conversation of an address."""
        return await self.app.conversations.open(name)

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Count a stream while it is open; raise `Rejected` if there are too many."""
        if self._streams >= self._most:
            raise Rejected(
                503,
                "Too many streams are open.",
                f"this process keeps {self._most} open (FOJA_MAX_STREAMS); come back soon, or long-poll",
            )
        self._streams += 1
        try:
            with STREAMS.track_inprogress():
                yield
        finally:
            self._streams -= 1


async def context_of(request: Request) -> WebContext:
    """Return the door that a request came through."""
    ctx: WebContext = request.app.state.ctx
    return ctx
