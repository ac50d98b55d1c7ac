"""`foja chat`: a conversation written, read, watched and checked from the command line."""

from __future__ import annotations

import asyncio
import io
import json
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

import foja
from foja.app import App
from foja.conversations.service import Conversation
from tests.database.rows import disarm
from tests.flow.command import Process, Run, check_refused

TALK = UUID(int=0xA)
LATER = "2999-01-01T00:00:00Z"
Part = Callable[[App, Conversation], Awaitable[None]]


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"tool_use_id": name, "tool_name": name, **more}


def result(name: str, value: Any, error: str | None = None) -> dict[str, Any]:
    return tool(name, tool_result=value, success=error is None, error_message=error)


async def talk_about_a_parcel(app: App, talk: Conversation) -> None:
    """A bit of everything, sealed, numbered and published."""
    await talk.append("user_message_sent", {"content": "Where is my parcel?\nIt is late."}, actor="ana")
    await talk.append("thinking", {"content": "Look it up."})
    await talk.append("tool_use_requested", tool("find", tool_args={"owner": "ana"}))
    await talk.append("tool_use_requested", tool("ask", tool_args={}))
    slots = await talk.reserve(3, ttl=600, intents=["find", "ask", "pay"])
    await slots.fill(1, "tool_use_completed", result("ask", None, "nobody there"))
    await slots.fill(0, "tool_use_completed", result("find", {"at": "depot"}))
    await slots.void(2, reason="not needed")
    asked = {"approval_id": "a", "tool_name": "refund", "tool_args": {"amount": 5}, "expires_at": LATER}
    await talk.append("approval_requested", asked)
    decided = {"approval_id": "a", "decision": "denied", "reason": "too much"}
    await talk.append("approval_completed", decided, actor="eva")
    await talk.append(
        "agent_message_sent", {"content": [{"type": "text", "text": "In the depot."}, {"n": 1}]}
    )
    await talk.append("user_message_sent", {"content": "secret"})
    await talk.erase(10, reason="asked to")
    await app.work(until_idle=True)


async def leave_it_open(_: App, talk: Conversation) -> None:
    """A tool that runs, an approval that waits, a number that is kept, and one event above it."""
    await talk.append("tool_use_requested", tool("slow", tool_args={}))
    asked = {"approval_id": "b", "tool_name": "send", "tool_args": {}, "expires_at": LATER}
    await talk.append("approval_requested", asked)
    await talk.reserve(1, ttl=600, intents=[{"tool": "slow"}])
    await talk.append("tool_use_completed", result("stray", 1))


def write(*parts: Part) -> None:
    async def connected() -> None:
        async with foja.connect() as app:
            talk = await app.conversations.open(TALK)
            for part in parts:
                await part(app, talk)

    asyncio.run(connected())


@pytest.fixture
def spoken(home: Path) -> None:
    write(talk_about_a_parcel)


SHOWN = """\
    0 ana        Where is my parcel?
                 It is late.
    1 thinking   Look it up.
    2 tool       find {"owner": "ana"}
    4   ↳        {"at": "depot"}
    3 tool       ask {}
    5   ↳        failed (nobody there)
    6 void       not needed
    7 approval   refund {"amount": 5}
    8   ↳        denied (too much) by eva
    9 agent      In the depot.
                 {"n": 1}
   10 user       (erased)
   11 erased     what event 10 said (asked to)
"""


def test_a_conversation_begins_with_an_id_and_a_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = UUID(run("chat", "new").out.strip())
    assert UUID(run("chat", "new", "--json").document["id"]) != talk
    check_refused(run("chat", "say", talk, " "), 1, "nothing to say")
    assert run("chat", "say", talk, "hello", "--as", "ana").lines == [f"event 0 of {talk}"]
    monkeypatch.setattr("sys.stdin", io.StringIO("two\nlines\n"))
    said = run("chat", "say", talk, "-", "--kind", "message", "--json").document
    assert (said["seq"], said["kind"], said["payload"]) == (
        1,
        "agent_message_sent",
        {"content": "two\nlines"},
    )
    for _ in range(2):
        assert run("chat", "say", talk, "once", "--key", "k").lines == [f"event 2 of {talk}"]
    request = json.dumps(tool("t", tool_args={}))
    assert run("chat", "say", talk, request, "--kind", "tool_use_requested").code == 0
    assert run("chat", "say", talk, "tired", "--kind", "turn_paused", "--json").document["payload"] == {
        "reason": "tired"
    }
    assert len(run("chat", "show", talk).lines) == 6


def test_the_newest_conversations_are_listed(run: Run) -> None:
    talks = [run("chat", "new").out.strip() for _ in range(3)]
    for n, talk in enumerate(talks[:2]):
        for _ in range(n + 1):
            run("chat", "say", talk, f"number\n{n} {'and so on ' * 20}", "--as", "ana")
    listed = run("chat", "--json").document
    assert [(each["id"], each["events"]) for each in listed] == [(talks[1], 2), (talks[0], 1)]
    head, first, second = run("chat").lines
    assert head.split() == ["conversation", "events", "last"]
    assert first.startswith(f"{talks[1]}       2  ana: number 1 and so on")
    assert second.endswith("…")


def test_what_cannot_be_said_is_refused_in_one_line(run: Run) -> None:
    check_refused(run("chat", "say", TALK, "x", "--kind", "shrugged"), 1, "no kind 'shrugged'")
    check_refused(
        run("chat", "say", TALK, "x", "--kind", "tool_use_requested"), 1, "a JSON object with tool_use_id"
    )
    check_refused(run("chat", "say", TALK, "{}", "--kind", "tool_use_requested"), 1, "tool_use_id")
    check_refused(run("chat", "say", TALK, "x", "--kind", "slot.voided"), 1, "slot.voided")
    check_refused(run("chat", "show", TALK), 1, "nothing was ever said")
    check_refused(run("chat", "verify", TALK, "--key", "nonsense"), 1, "verifier key")
    for words in (["chat", "shout"], ["chat", "say", TALK], ["chat", "show", "no-id"]):
        wrong = run(*words)
        assert (wrong.code, wrong.out) == (2, "")


@pytest.mark.usefixtures("spoken")
def test_a_transcript_reads_in_order_with_every_answer_under_its_question(run: Run) -> None:
    assert run("chat", "show", TALK).out == SHOWN
    shown = run("chat", "show", TALK, "--json").document
    assert shown["id"] == str(TALK)
    assert [(item["seq"], item["state"], item["pair"]) for item in shown["items"]][2:6] == [
        (2, "completed", 4),
        (3, "failed", 5),
        (4, "completed", 2),
        (5, "failed", 3),
    ]


def test_what_is_still_open_is_shown_as_such(run: Run, home: Path) -> None:
    write(leave_it_open)
    lines = run("chat", "show", TALK).lines
    assert lines[0] == "    0 tool       slow {}"
    assert lines[1] == f"    1 approval   send {{}} (waits for a decision until {LATER})"
    assert lines[2].startswith('    2 reserved   {"tool": "slow"} (until ')
    assert lines[3] == "    3 result     of stray, which nobody asked for: 1"


def test_a_number_kept_for_a_result_stands_under_its_request(
    run: Run, home: Path, spawn: Callable[..., Process]
) -> None:
    async def ask(_: App, talk: Conversation) -> None:
        calls = [tool("one", tool_args={}), tool("two", tool_args={}), tool("three", tool_args={})]
        async with talk.tools(calls) as tools:
            await tools[1].deny("not you")
            shown.extend((await asyncio.to_thread(spawn("chat", "show", TALK).end, signal.SIGCONT)).lines)

    shown: list[str] = []
    write(ask)
    assert [line.split(" (until")[0] for line in shown] == [
        "    0 tool       one {}",
        '    3   ↳        {"kind": "tool_use_completed", "tool_use_id": "one"}',
        "    1 tool       two {}",
        "    4   ↳        denied (not you)",
        "    2 tool       three {}",
        '    5   ↳        {"kind": "tool_use_completed", "tool_use_id": "three"}',
    ]
    assert run("chat", "show", TALK).lines[1] == "    3   ↳        abandoned: nobody answered"


def test_words_do_nothing_to_the_terminal(run: Run, home: Path) -> None:
    evil = "\x1b[2J\x1b]0;mine\x07 \u202egnp.exe \x9b31m [red]bold[/red]"
    run("chat", "say", TALK, evil, "--as", "eve\x1b[0m")
    (line,) = run("chat", "show", TALK).lines
    assert not set(line) & {"\x1b", "\x07", "\u202e", "\x9b"}
    assert "[red]bold[/red]" in line
    run("chat", "say", TALK, json.dumps(result("t", "long" * 1000)), "--kind", "tool_use_completed")
    assert "(4,000 characters)" in run("chat", "show", TALK).lines[1]


@pytest.mark.usefixtures("spoken")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_pipe_gets_a_line_for_each_event_as_it_comes(
    number: signal.Signals, code: int, spawn: Callable[..., Process]
) -> None:
    process = spawn("chat", "follow", TALK, "--after", 8)
    assert [process.line().split()[0] for _ in range(4)] == ["9", '{"n":', "10", "11"]

    async def go_on(_: App, talk: Conversation) -> None:
        slots = await talk.reserve(1, ttl=600, intents=["late"])
        await talk.append("user_message_sent", {"content": "next"})
        await slots.fill(0, "thinking", {"content": "filled"})

    write(go_on)
    awaited, seen = {"user       next", "thinking   filled"}, set[str]()
    while not awaited <= seen:  # and the open slot, if it looked in that moment
        seen.add(process.line().split(None, 1)[1].strip())
    ended = process.end(number)
    assert (ended.code, ended.err) == (code, "")


@pytest.mark.usefixtures("spoken")
def test_a_program_follows_in_json(spawn: Callable[..., Process]) -> None:
    process = spawn("chat", "follow", TALK, "--json")
    assert [json.loads(process.line())["seq"] for _ in range(12)] == list(range(12))
    write(lambda _, talk: talk.append("thinking", {"content": "live"}))  # type: ignore[arg-type, return-value]
    assert json.loads(process.line())["payload"] == {"content": "live"}
    process.kill()
    lost = spawn("chat", "follow", TALK, "--after", "nonsense").end(signal.SIGCONT)
    assert (lost.code, lost.out) == (1, "")
    assert "not a cursor" in lost.err


@pytest.mark.usefixtures("spoken")
def test_verify_says_what_is_proven_and_what_is_not(run: Run) -> None:
    ran = run("chat", "verify", TALK)
    assert (ran.code, ran.err) == (0, "")
    for words in (
        "✓ numbers 0 to 11: none is missing",
        "✓ 11 bodies fit their hashes, and their ids fit their keys; 1 erased",
        "✓ the chain of events 0 to 11, derived again, ends at the stored head",
        "✓ event 11 and all before it are in the log: leaf 11 of",
        "· whether the published checkpoint is the one others saw",
    ):
        assert words in ran.out
    write(leave_it_open)
    ran = run("chat", "verify", TALK)
    assert ran.code == 0
    for words in (
        "✓ numbers 0 to 15",
        "✓ event 11 and all before it are in the log",
        "· no published checkpoint covers events 12 to 13 yet",
        "· not chained yet, for what is open below or for want of a worker: 15",
        "· reserved and not filled: 14",
        "· tools without a result: 12",
        "· results that nobody asked for: 15",
        "· approvals without a decision: 13",
    ):
        assert words in ran.out
    document = run("chat", "verify", TALK, "--json").document
    assert (document["clean"], document["counts"], len(document["proven"])) == (
        True,
        {"events": 15, "streams": 1},
        4,
    )


@pytest.mark.usefixtures("spoken")
@pytest.mark.parametrize(
    ("statement", "check", "seq"),
    [
        ('update foja.event set payload = \'{"content":"no"}\' where seq = 1', "body", 1),
        ("update foja.event set at = at + interval '1 s' where seq = 9", "chain", 9),
        ("update foja.event set idempotency_key = 'k' where seq = 9", "id", 9),
        ("delete from foja.event where seq = 6", "missing", 6),
        ("update foja.entity set head = sha256('x')", "head", 11),
        ("update foja.leaf set chain_hash = sha256('x') where seq = 11", "chain", 11),
        ("delete from foja.leaf where seq = 11", "place", 11),
    ],
)
def test_verify_names_what_was_touched(
    run: Run, admin: psycopg.Connection[Any], statement: str, check: str, seq: int
) -> None:
    disarm(admin).execute(statement.encode())
    ran = run("chat", "verify", TALK)
    assert ran.code == 1
    assert f"✗ event {seq} of stream {TALK}: {check}: " in ran.out
    assert "✓" not in ran.out
    assert run("chat", "verify", TALK, "--json").document["first"]["check"] == check


@pytest.mark.usefixtures("spoken")
def test_verify_does_not_call_a_write_under_way_missing(run: Run, admin: psycopg.Connection[Any]) -> None:
    write(leave_it_open)
    admin.execute("delete from foja.slot")
    assert "event 14 of stream" in run("chat", "verify", TALK).out
    admin.execute("update foja.entity set lane = 'redis', fence = gen_random_uuid()")
    ran = run("chat", "verify", TALK)
    assert ran.code == 0
    assert "✓ numbers 0 to 13: none is missing" in ran.out
    assert "· given by Redis and not recorded yet; written or voided soon: 14" in ran.out


@pytest.mark.usefixtures("spoken")
def test_verify_asks_the_world_too(run: Run, home: Path) -> None:
    (note,) = home.rglob("checkpoint")
    published = note.read_text()
    note.write_text(published.replace("\n12\n", "\n11\n"))
    assert "✗ log: checkpoint: " in run("chat", "verify", TALK).out
    note.unlink()
    assert run("chat", "verify", TALK).code == 1
    note.write_text(published)
    assert run("chat", "verify", TALK).code == 0
    for tile in home.rglob("tile/0/*"):
        tile.is_dir() or tile.write_bytes(bytes(len(tile.read_bytes())))
    for tile in home.rglob("tile/0/000.p/*"):
        tile.write_bytes(bytes(len(tile.read_bytes())))
    ran = run("chat", "verify", TALK)
    assert (ran.code, f"event 11 of stream {TALK}: root" in ran.out) == (1, True)


def test_verify_needs_no_log_yet(run: Run, home: Path) -> None:
    write(leave_it_open)
    ran = run("chat", "verify", TALK)
    assert ran.code == 0
    assert "are in the log" not in ran.out
    assert "no published checkpoint covers events 0 to 1 yet" in ran.out
    check_refused(run("chat", "verify", UUID(int=0xB)), 1, "does not exist")
