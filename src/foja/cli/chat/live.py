"""A conversation on a terminal: what is settled scrolls away above, what is in motion moves below."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from foja.cli.chat.transcript import ARROW, NUMBER, WHO, Deadlines, Line, groups
from foja.conversations.model.order import Envelope
from foja.conversations.model.view import ConversationView

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
SPOKEN = ("user", "agent")  # only the name is painted, the words stand as they are


def show(lines: Sequence[Line]) -> None:
    """Print lines in colour."""
    Console().print(paint(lines))


async def watch(heard: AsyncIterator[list[Envelope]]) -> None:
    """Draw what comes until interrupted, and leave all of it on the screen."""
    console, screen = Console(), Screen()
    try:
        with Live(screen.moving(), console=console, transient=True, refresh_per_second=12) as live:
            async for batch in heard:
                screen.take(batch)
                if settled := screen.settle():
                    console.print(paint(settled))
                live.update(screen.moving())
                await asyncio.sleep(FRAME)
    finally:
        console.print(paint(screen.rest()))


class Screen:
    """What was printed for good, and what may still change."""

    def __init__(self) -> None:
        self._view, self._deadlines = ConversationView(), Deadlines()
        self._printed: set[int | None] = set()
        self._groups: list[list[Line]] = []

    def take(self, batch: Sequence[Envelope]) -> None:
        """Take what came; after a reset everything is printed again."""
        if any(form.get("kind") == "reset" for form in batch):
            self._printed.clear()
        self._view = self._view.add(*batch)
        self._deadlines.take(batch)
        self._groups = groups(self._view.items(), self._deadlines)

    def settle(self) -> list[Line]:
        """Return what comes before anything that waits, each of it once."""
        fresh: list[Line] = []
        for group in self._groups:
            if group[0].seq is None or group[0].waiting:
                break
            if group[0].seq not in self._printed:
                self._printed.add(group[0].seq)
                fresh.extend(group)
        return fresh

    def rest(self) -> list[Line]:
        """Return every line that was not printed yet."""
        return [line for group in self._groups if group[0].seq not in self._printed for line in group]

    def moving(self) -> RenderableType:
        """Return the part that is drawn again and again."""
        words = "following; Ctrl-C ends" if self._groups else "nothing was said yet; following, Ctrl-C ends"
        return Tail(Group(paint(self.rest(), live=True), Text(f"{' ' * NUMBER} {words}", style="dim")))


def paint(lines: Iterable[Line], *, live: bool = False) -> Table:
    """Return lines as they look on a terminal; `live` turns what waits into a wheel."""
    table = Table.grid(padding=(0, 1))
    table.add_column(width=NUMBER, justify="right", no_wrap=True)
    table.add_column(width=WHO, no_wrap=True, overflow="ellipsis")
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(*_cells(line, live=live))
    return table


class Tail:
    """The end of something that may not fit on the screen."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = console.render_lines(self._inner, options.update(height=None), pad=False)
        for row in rows[-max(console.height - 2, 1) :]:
            yield from row
            yield Segment.line()


class Wheel:
    """It turns with the clock, however often it is drawn anew."""

    def __rich__(self) -> Text:
        return Text(FRAMES[int(time.monotonic() / FRAME) % len(FRAMES)], style="yellow")


def _cells(line: Line, *, live: bool) -> Sequence[RenderableType]:
    tone = TONES.get(line.tone, "")
    number: RenderableType = Text("" if line.seq is None else str(line.seq), style="dim")
    if live and line.waiting:
        number = Wheel()
    who = Text(ARROW if line.answer else line.who, style=tone)
    return number, who, Text(line.text, style="" if line.tone in SPOKEN else tone)
