"""`foja chat follow` on a terminal: which lines are redrawn and which are final."""

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
from foja.domains.conversations.service import Conversation
from foja.interfaces.cli.chat.live import Screen
from tests.flow.conversations.test_chat import ID, SHOWN, append_every_kind, result, tool, write
from tests.flow.terminal import Terminal


@pytest.fixture
def screen(home: Path) -> Iterator[Callable[..., Terminal]]:
    terminals: list[Terminal] = []

    def start(*arguments: object) -> Terminal:
        terminals.append(Terminal(*arguments))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


def test_a_terminal_shows_colours_and_a_spinner_while_a_tool_runs(
    home: Path, screen: Callable[..., Terminal]
) -> None:
    write(append_every_kind)
    shown = screen("chat", "show", ID)
    shown.wait_for("body of event 10")
    assert "\x1b[1;36m“ana”" in shown.raw
    assert shown.end(signal.SIGCONT) == 0
    terminal = screen("chat", "follow", ID)
    terminal.wait_for("following; Ctrl-C ends")

    async def use_a_tool(_: App, conversation: Conversation) -> None:
        await conversation.append("tool_use_requested", tool("slow", tool_args={}))

    async def return_result(_: App, conversation: Conversation) -> None:
        await conversation.append("tool_use_completed", result("slow", "at last"))
        await conversation.append("agent_message_sent", {"content": "Done."})

    write(use_a_tool)
    terminal.wait_for("“slow” “{}”")
    for frame in "⠋⠹⠼":
        terminal.wait_for(frame)
    write(return_result)
    terminal.wait_for("14 agent      “Done.”")
    assert terminal.end(signal.SIGINT) == 130
    slow = ["   12 tool       “slow” “{}”", "   13   ↳        “at last”", "   14 agent      “Done.”"]
    assert terminal.rows == [*SHOWN.splitlines(), *slow]
    assert "\x1b[?25h" in terminal.raw  # the cursor is visible again


def test_text_streams_in_from_another_process(home: Path, screen: Callable[..., Terminal]) -> None:
    terminal = screen("chat", "follow", ID)
    terminal.wait_for("no events yet")

    async def stream_answer(_: App, conversation: Conversation) -> None:
        await conversation.append("user_message_sent", {"content": "Well?"}, actor="ana")
        for n, (piece, seen) in enumerate(
            [("It is ", "It is"), ("on its ", "It is on its"), ("way", "on its way")]
        ):
            await conversation.emit("message_chunk", {"text": piece}, turn="t", block_index=0, event_index=n)
            await asyncio.to_thread(terminal.wait_for, f"agent      “{seen}" if n < 2 else seen)
        await conversation.append(
            "agent_message_sent", {"content": "It is on its way.", "turn": "t", "block_index": 0}
        )

    write(stream_answer)
    terminal.wait_for("1 agent      “It is on its way.”")
    assert terminal.end(signal.SIGTERM) == 143
    assert terminal.rows == ["    0 “ana”      “Well?”", "    1 agent      “It is on its way.”"]


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


def envelope(seq: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"seq": seq, "kind": kind, "actor": None, "payload": payload}


def draw(screen: Screen) -> str:
    """Return the redrawn part as it looks on a terminal of 80 columns and 10 rows."""
    output = io.StringIO()
    Console(file=output, width=80, height=10).print(screen.render_unfinished())
    return output.getvalue()


def final_numbers(screen: Screen) -> list[int | None]:
    return [line.seq for line in screen.take_final()]


def test_chunks_are_redrawn_until_the_message_is_final() -> None:
    screen = Screen()
    assert "no events yet" in draw(screen)
    screen.add([envelope(0, "user_message_sent", content="hi"), chunk(0, "Hel")])
    assert final_numbers(screen) == [0]
    assert "agent      “Hel”\n" in "\n".join(line.rstrip() for line in draw(screen).splitlines()) + "\n"
    screen.add([chunk(1, "lo")])
    assert "Hello" in draw(screen)
    assert final_numbers(screen) == []
    screen.add([envelope(1, "agent_message_sent", content="Hello", turn="t", block_index=0)])
    assert final_numbers(screen) == [1]
    assert "Hello" not in draw(screen)
    assert screen.unprinted() == []


def test_no_line_is_printed_before_a_line_that_waits() -> None:
    screen = Screen()
    request = envelope(0, "tool_use_requested", **tool("slow", tool_args={}), result_seq=1)
    opened = {
        "seq": 1,
        "kind": "slot.open",
        "payload": {"intent": "slow", "deadline": "2026-01-01T00:00:00Z"},
    }
    screen.add([request, opened, envelope(2, "user_message_sent", content="well?")])
    assert final_numbers(screen) == []
    assert [line.seq for line in screen.unprinted()] == [0, 1, 2]
    screen.add([envelope(1, "tool_use_completed", **result("slow", "done"))])
    assert final_numbers(screen) == [0, 1, 2]


def test_a_long_answer_shows_its_end() -> None:
    screen = Screen()
    screen.add([chunk(0, "\n".join(f"line {n}" for n in range(100)))])
    text = draw(screen)
    assert "line 99" in text
    assert "line 50" not in text
    assert len(text.splitlines()) < 10


def test_after_a_reset_everything_is_shown_again() -> None:
    screen = Screen()
    screen.add([envelope(0, "user_message_sent", content="hi")])
    assert final_numbers(screen) == [0]
    screen.add(
        [{"seq": None, "kind": "reset", "reason": "epoch"}, envelope(0, "user_message_sent", content="hi")]
    )
    assert final_numbers(screen) == [0]
