"""`foja chat follow` on a terminal: what moves, what stays, and what is left behind."""

from __future__ import annotations

import asyncio
import io
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from foja.app import App
from foja.cli.chat.live import Screen
from foja.conversations.service import Conversation
from tests.flow.terminal import Terminal
from tests.flow.test_chat import SHOWN, TALK, result, talk_about_a_parcel, tool, write


@pytest.fixture
def screen(home: Path) -> Iterator[Callable[..., Terminal]]:
    terminals: list[Terminal] = []

    def start(*words: object) -> Terminal:
        terminals.append(Terminal(*words))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


def test_a_terminal_shows_it_in_colour_and_a_wheel_while_it_waits(
    home: Path, screen: Callable[..., Terminal]
) -> None:
    write(talk_about_a_parcel)
    shown = screen("chat", "show", TALK)
    shown.wait_for("what event 10 said")
    assert "\x1b[1;36mana" in shown.raw
    assert shown.end(signal.SIGCONT) == 0
    terminal = screen("chat", "follow", TALK)
    terminal.wait_for("following; Ctrl-C ends")

    async def use_a_tool(_: App, talk: Conversation) -> None:
        await talk.append("tool_use_requested", tool("slow", tool_args={}))

    async def come_back(_: App, talk: Conversation) -> None:
        await talk.append("tool_use_completed", result("slow", "at last"))
        await talk.append("agent_message_sent", {"content": "Done."})

    write(use_a_tool)
    terminal.wait_for("slow {}")
    for wheel in "⠋⠹⠼":
        terminal.wait_for(wheel)
    write(come_back)
    terminal.wait_for("14 agent      Done.")
    assert terminal.end(signal.SIGINT) == 130
    slow = ["   12 tool       slow {}", "   13   ↳        at last", "   14 agent      Done."]
    assert terminal.rows == [*SHOWN.splitlines(), *slow]
    assert "\x1b[?25h" in terminal.raw  # the cursor is back


def test_text_streams_in_from_another_process(home: Path, screen: Callable[..., Terminal]) -> None:
    terminal = screen("chat", "follow", TALK)
    terminal.wait_for("nothing was said yet")

    async def speak(_: App, talk: Conversation) -> None:
        await talk.append("user_message_sent", {"content": "Well?"}, actor="ana")
        for n, (piece, seen) in enumerate(
            [("It is ", "It is"), ("on its ", "It is on its"), ("way", "on its way")]
        ):
            await talk.emit("message_chunk", {"text": piece}, turn="t", block_index=0, event_index=n)
            await asyncio.to_thread(terminal.wait_for, f"agent      {seen}" if n < 2 else seen)
        await talk.append(
            "agent_message_sent", {"content": "It is on its way.", "turn": "t", "block_index": 0}
        )

    write(speak)
    terminal.wait_for("1 agent      It is on its way.")
    assert terminal.end(signal.SIGTERM) == 143
    assert terminal.rows == ["    0 ana        Well?", "    1 agent      It is on its way."]


def chunk(n: int, text: str, kind: str = "message_chunk") -> dict[str, Any]:
    place = {"turn": "t", "block_index": 0, "event_index": n}
    return {
        "seq": None,
        "id": f"c{n}",
        "kind": kind,
        "at": f"2026-01-01T00:00:{n:02}Z",
        **place,
        "payload": {"text": text},
    }


def said(seq: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"seq": seq, "kind": kind, "actor": None, "payload": payload}


def drawn(screen: Screen) -> str:
    """Return the moving part as it looks on a terminal of 80 columns and 10 rows."""
    paper = io.StringIO()
    Console(file=paper, width=80, height=10).print(screen.moving())
    return paper.getvalue()


def printed(screen: Screen) -> list[int | None]:
    return [line.seq for line in screen.settle()]


def test_text_appears_piece_by_piece_and_once_for_good() -> None:
    screen = Screen()
    assert "nothing was said yet" in drawn(screen)
    screen.take([said(0, "user_message_sent", content="hi"), chunk(0, "Hel")])
    assert printed(screen) == [0]
    assert "agent      Hel\n" in "\n".join(line.rstrip() for line in drawn(screen).splitlines()) + "\n"
    screen.take([chunk(1, "lo")])
    assert "Hello" in drawn(screen)
    assert printed(screen) == []
    screen.take([said(1, "agent_message_sent", content="Hello", turn="t", block_index=0)])
    assert printed(screen) == [1]
    assert "Hello" not in drawn(screen)
    assert screen.rest() == []


def test_nothing_overtakes_what_waits() -> None:
    screen = Screen()
    request = said(0, "tool_use_requested", **tool("slow", tool_args={}), result_seq=1)
    opened = {
        "seq": 1,
        "kind": "slot.open",
        "payload": {"intent": "slow", "deadline": "2026-01-01T00:00:00Z"},
    }
    screen.take([request, opened, said(2, "user_message_sent", content="well?")])
    assert printed(screen) == []
    assert [line.seq for line in screen.rest()] == [0, 1, 2]
    screen.take([said(1, "tool_use_completed", **result("slow", "done"))])
    assert printed(screen) == [0, 1, 2]


def test_a_long_answer_shows_its_end() -> None:
    screen = Screen()
    screen.take([chunk(0, "\n".join(f"line {n}" for n in range(100)))])
    text = drawn(screen)
    assert "line 99" in text
    assert "line 50" not in text
    assert len(text.splitlines()) < 10


def test_after_a_reset_everything_is_shown_again() -> None:
    screen = Screen()
    screen.take([said(0, "user_message_sent", content="hi")])
    assert printed(screen) == [0]
    screen.take(
        [{"seq": None, "kind": "reset", "reason": "epoch"}, said(0, "user_message_sent", content="hi")]
    )
    assert printed(screen) == [0]
