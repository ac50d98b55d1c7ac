"""Print and check the claims of the demo, and follow a conversation meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from uuid import UUID

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import Event
from foja.engine.settings import Settings
from foja.interfaces.cli.output import print_json_line, print_line, print_lines
from foja.interfaces.cli.services import in_background

TIMEOUT_SECONDS = 15.0


@dataclass(slots=True)
class Story:
    """Prints chapters, claims and remarks as text or as JSON lines; keeps the claims that failed."""

    as_json: bool = False
    failed: list[str] = field(default_factory=list)
    _chapter: str = ""

    def chapter(self, title: str) -> None:
        """Start a chapter."""
        self._chapter = title
        if not self.as_json:
            print_lines(("", title))

    def claim(self, sentence: str, true: object) -> None:
        """Print a claim and whether it is true."""
        self._print(f"  {'✓' if true else '✗'} {sentence}", claim=sentence, true=bool(true))
        if not true:
            self.failed.append(sentence)

    def remark(self, text: str) -> None:
        """Print a text that claims nothing."""
        self._print(f"      {text}", remark=text)

    def _print(self, line: str, **fields: object) -> None:
        if self.as_json:
            print_json_line({"chapter": self._chapter, **fields})
        else:
            print_line(line)


@dataclass(slots=True)
class TailReader:
    """A follower that replaces events by number, as every client does."""

    seen: dict[int, Event] = field(default_factory=dict)
    placeholders: set[int] = field(default_factory=set)

    async def follow(self, conversation: Conversation) -> None:
        """Collect events until cancelled."""
        async for event in conversation.follow():
            if isinstance(event, Event):
                self.seen[event.seq] = event
                if event.open:
                    self.placeholders.add(event.seq)

    async def wait_for(self, count: int) -> bool:
        """Wait until `count` numbers are there and none is open; return False after the timeout."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            if len(self.seen) == count and not any(event.open for event in self.seen.values()):
                return True
            await asyncio.sleep(0.02)
        return False

    def kinds(self) -> list[tuple[int, str]]:
        """Return number and kind of the events, in order."""
        return [(seq, self.seen[seq].kind) for seq in sorted(self.seen)]


@contextlib.asynccontextmanager
async def following(settings: Settings, conversation_id: UUID) -> AsyncIterator[TailReader]:
    """Yield a reader with its own connections, as another process would have."""
    reader = TailReader()
    async with App(settings) as other:
        conversation = await other.conversations.open(conversation_id)
        async with in_background(reader.follow(conversation)):
            yield reader
