"""Draw a conversation on a terminal: final lines scroll above, unfinished lines are redrawn below."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from foja.interfaces.cli.chat.transcript import ARROW, NUMBER, WHO, Deadlines, Line, groups
from foja.pure.models.conversations.order import Envelope
from foja.pure.models.conversations.view import ConversationView

FRAMES, FRAME = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", 0.08
TONES = {
    "user": "bold cyan",
    "agent": "bold green",
    "thinking": "dim italic",
    "tool": "yellow",
    "result": "yellow",
    "approval": "magenta",
    "decision": "magenta",
    "refused": "red",
    "bad": "red",
    "error": "bold red",
    "gone": "dim",
    "erased": "dim",
}
PLAIN_TEXT = ("user", "agent")  # only the name has a colour


def show(lines: Sequence[Line]) -> None:
    """Print lines in colour."""
    Console().print(paint(lines))


async def watch(batches: AsyncIterator[list[Envelope]]) -> None:
    """Draw batches until interrupted; all lines stay on the screen."""
    console, screen = Console(), Screen()
    try:
        with Live(screen.render_unfinished(), console=console, transient=True, refresh_per_second=12) as live:
            async for batch in batches:
                screen.add(batch)
                if final := screen.take_final():
                    console.print(paint(final))
                live.update(screen.render_unfinished())
                await asyncio.sleep(FRAME)
    finally:
        console.print(paint(screen.unprinted()))


class Screen:
    """The lines that are printed for good, and the lines that may still change."""

    def __init__(self) -> None:
        self._view, self._deadlines = ConversationView(), Deadlines()
        self._printed: set[int | None] = set()
        self._groups: list[list[Line]] = []

    def add(self, batch: Sequence[Envelope]) -> None:
        """Add a batch; after a reset everything is printed again."""
        if any(envelope.get("kind") == "reset" for envelope in batch):
            self._printed.clear()
        self._view = self._view.add(*batch)
        self._deadlines.add(batch)
        self._groups = groups(self._view.items(), self._deadlines)

    def take_final(self) -> list[Line]:
        """Return the new lines before the first one that waits; each line once."""
        new: list[Line] = []
        for group in self._groups:
            if group[0].seq is None or group[0].waiting:
                break
            if group[0].seq not in self._printed:
                self._printed.add(group[0].seq)
                new.extend(group)
        return new

    def unprinted(self) -> list[Line]:
        """Return the lines that are not printed yet."""
        return [line for group in self._groups if group[0].seq not in self._printed for line in group]

    def render_unfinished(self) -> RenderableType:
        """Return the part that is redrawn."""
        status = "following; Ctrl-C ends" if self._groups else "no events yet; following, Ctrl-C ends"
        return Tail(Group(paint(self.unprinted(), live=True), Text(f"{' ' * NUMBER} {status}", style="dim")))


def paint(lines: Iterable[Line], *, live: bool = False) -> Table:
    """Return lines as a table; `live` shows a spinner beside lines that wait."""
    table = Table.grid(padding=(0, 1))
    table.add_column(width=NUMBER, justify="right", no_wrap=True)
    table.add_column(width=WHO, no_wrap=True, overflow="ellipsis")
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(*_cells(line, live=live))
    return table


class Tail:
    """The last rows of a renderable that may not fit on the screen."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = console.render_lines(self._inner, options.update(height=None), pad=False)
        for row in rows[-max(console.height - 2, 1) :]:
            yield from row
            yield Segment.line()


class Spinner:
    """A spinner whose frame depends on the clock, not on how often it is drawn."""

    def __rich__(self) -> Text:
        return Text(FRAMES[int(time.monotonic() / FRAME) % len(FRAMES)], style="yellow")


def _cells(line: Line, *, live: bool) -> Sequence[RenderableType]:
    tone = TONES.get(line.tone, "")
    number: RenderableType = Text("" if line.seq is None else str(line.seq), style="dim")
    if live and line.waiting:
        number = Spinner()
    who = Text(ARROW if line.answer else line.who, style=tone)
    return number, who, Text(line.text, style="" if line.tone in PLAIN_TEXT else tone)
