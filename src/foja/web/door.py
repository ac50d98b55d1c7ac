"""What the routes share: the app, the feeds of this process, and the word that it is over."""

from __future__ import annotations

import asyncio

from fastapi import Request

from foja.app import App
from foja.conversations.work import Conversation
from foja.web.feed import Feeds


class Door:
    """One app behind HTTP. `closing` ends every open stream and every wait."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.beat = app.settings.heartbeat_seconds
        self.feeds = Feeds(app.ledger, self.beat)
        self.closing = asyncio.Event()

    async def conversation(self, name: str) -> Conversation:
        """Return the conversation of an address."""
        return await self.app.conversations.open(name)


async def door_of(request: Request) -> Door:
    """Return the door that a request came through."""
    door: Door = request.app.state.door
    return door
