"""Who tells the story, and who reads it as it happens."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from uuid import UUID

from foja.app import App
from foja.cli.output import record, say
from foja.conversations.service import Conversation
from foja.ledger.event import Event
from foja.settings import Settings

TIMEOUT_SECONDS = 15.0


@dataclass(slots=True)
class Story:
    """What was claimed, and what of it was not true; told to people, or to programs line by line."""

    as_json: bool = False
    failed: list[str] = field(default_factory=list)
    _chapter: str = ""

    def chapter(self, title: str) -> None:
        """Begin something new."""
        self._chapter = title
        if not self.as_json:
            say(f"\n{title}")

    def claim(self, sentence: str, true: object) -> None:
        """Say what happened, and mark it if it did not."""
        self._tell(f"  {'✓' if true else '✗'} {sentence}", claim=sentence, true=bool(true))
        if not true:
            self.failed.append(sentence)

    def remark(self, words: str) -> None:
        """Say something beside what is claimed."""
        self._tell(f"      {words}", remark=words)

    def _tell(self, line: str, **said: object) -> None:
        if self.as_json:
            record({"chapter": self._chapter, **said})
        else:
            say(line)


@dataclass(slots=True)
class TailReader:
    """A follower that replaces by number, as every client does."""

    seen: dict[int, Event] = field(default_factory=dict)
    placeholders: set[int] = field(default_factory=set)

    async def follow(self, talk: Conversation) -> None:
        """Collect what is there and what comes, for ever."""
        async for event in talk.follow():
            if isinstance(event, Event):
                self.seen[event.seq] = event
                if event.open:
                    self.placeholders.add(event.seq)

    async def sees(self, count: int) -> bool:
        """Wait, not for ever, until so many numbers are there and none of them is open."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            if len(self.seen) == count and not any(event.open for event in self.seen.values()):
                return True
            await asyncio.sleep(0.02)
        return False

    def kinds(self) -> list[tuple[int, str]]:
        """Return what was seen, in order."""
        return [(seq, self.seen[seq].kind) for seq in sorted(self.seen)]


@contextlib.asynccontextmanager
async def following(settings: Settings, talk_id: UUID) -> AsyncIterator[TailReader]:
    """Lend a reader with connections of its own, as another process would have."""
    reader = TailReader()
    async with App(settings) as other:
        task = asyncio.create_task(reader.follow(await other.conversations.open(talk_id)))
        try:
            yield reader
        finally:
            await end(task)


async def end(task: asyncio.Task[None]) -> None:
    """Stop a task that would go on for ever, and hear it out."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
