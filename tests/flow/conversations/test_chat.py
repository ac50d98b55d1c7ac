"""`foja chat`: write, read, follow and check a conversation on the command line."""

from __future__ import annotations

import asyncio
import io
import json
import random
import re
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

import foja
from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.pure.quotation import QUOTATION
from tests.database.schema.rows import disarm
from tests.flow.command import Process, Run, check_refused
from tests.rules.core.test_quotations import MARK, hostile

ID = UUID(int=0xA)
LATER = "2999-01-01T00:00:00Z"
Part = Callable[[App, Conversation], Awaitable[None]]


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"tool_use_id": name, "tool_name": name, **more}


def result(name: str, value: Any, error: str | None = None) -> dict[str, Any]:
    return tool(name, tool_result=value, success=error is None, error_message=error)


async def append_every_kind(app: App, conversation: Conversation) -> None:
    """Append events of every kind, then seal, number and publish them."""
    await conversation.append(
        "user_message_sent", {"content": "Where is my parcel?\nIt is late."}, actor="ana"
    )
    await conversation.append("thinking", {"content": "Look it up."})
    await conversation.append("tool_use_requested", tool("find", tool_args={"owner": "ana"}))
    await conversation.append("tool_use_requested", tool("ask", tool_args={}))
    slots = await conversation.reserve(3, ttl=600, intents=["find", "ask", "pay"])
    await slots.fill(1, "tool_use_completed", result("ask", None, "no answer"))
    await slots.fill(0, "tool_use_completed", result("find", {"at": "depot"}))
    await slots.void(2, reason="not needed")
    request = {"approval_id": "a", "tool_name": "refund", "tool_args": {"amount": 5}, "expires_at": LATER}
    await conversation.append("approval_requested", request)
    decision = {"approval_id": "a", "decision": "denied", "reason": "too much"}
    await conversation.append("approval_completed", decision, actor="eva")
    await conversation.append(
        "agent_message_sent", {"content": [{"type": "text", "text": "In the depot."}, {"n": 1}]}
    )
    await conversation.append("user_message_sent", {"content": "secret"})
    await conversation.erase(10, reason="asked to")
    await app.work(until_idle=True)


async def leave_open(_: App, conversation: Conversation) -> None:
    """Append a pending tool and approval, reserve a number, and append above it."""
    await conversation.append("tool_use_requested", tool("slow", tool_args={}))
    request = {"approval_id": "b", "tool_name": "send", "tool_args": {}, "expires_at": LATER}
    await conversation.append("approval_requested", request)
    await conversation.reserve(1, ttl=600, intents=[{"tool": "slow"}])
    await conversation.append("tool_use_completed", result("stray", 1))


def write(*parts: Part) -> None:
    async def connected() -> None:
        async with foja.connect() as app:
            conversation = await app.conversations.open(ID)
            for part in parts:
                await part(app, conversation)

    asyncio.run(connected())


@pytest.fixture
def written(home: Path) -> None:
    write(append_every_kind)


SHOWN = """\
    0 “ana”      “Where is my parcel?
                 It is late.”
    1 thinking   “Look it up.”
    2 tool       “find” “{"owner": "ana"}”
    4   ↳        “{"at": "depot"}”
    3 tool       “ask” “{}”
    5   ↳        failed (“no answer”)
    6 void       “not needed”
    7 approval   “refund” “{"amount": 5}”
    8   ↳        denied (“too much”) by “eva”
    9 agent      “In the depot.
                 {"n": 1}”
   10 user       (erased)
   11 erased     body of event 10 (“asked to”)
"""


def test_say_appends_events_to_a_new_conversation(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = UUID(run("chat", "new").out.strip())
    assert UUID(run("chat", "new", "--json").document["id"]) != conversation
    check_refused(run("chat", "say", conversation, " "), 1, "the text is empty")
    assert run("chat", "say", conversation, "hello", "--as", "ana").lines == [f"event 0 of {conversation}"]
    monkeypatch.setattr("sys.stdin", io.StringIO("two\nlines\n"))
    event = run("chat", "say", conversation, "-", "--kind", "message", "--json").document
    assert (event["seq"], event["kind"], event["payload"]) == (
        1,
        "agent_message_sent",
        {"content": "two\nlines"},
    )
    for _ in range(2):
        assert run("chat", "say", conversation, "once", "--key", "k").lines == [f"event 2 of {conversation}"]
    request = json.dumps(tool("t", tool_args={}))
    assert run("chat", "say", conversation, request, "--kind", "tool_use_requested").code == 0
    assert run("chat", "say", conversation, "tired", "--kind", "turn_paused", "--json").document[
        "payload"
    ] == {"reason": "tired"}
    assert len(run("chat", "show", conversation).lines) == 6


def test_the_newest_conversations_are_listed(run: Run) -> None:
    conversations = [run("chat", "new").out.strip() for _ in range(3)]
    for n, conversation in enumerate(conversations[:2]):
        for _ in range(n + 1):
            run("chat", "say", conversation, f"number\n{n} {'and so on ' * 20}", "--as", "ana")
    listed = run("chat", "--json").document
    assert [(each["id"], each["events"]) for each in listed] == [(conversations[1], 2), (conversations[0], 1)]
    head, first, second = run("chat").lines
    assert head.split() == ["conversation", "events", "gaps", "last"]
    assert first.startswith(f"{conversations[1]}       2     0  “ana”: “number 1 and so on")
    assert second.endswith("…”")


def test_a_refused_event_is_an_error_of_one_line(run: Run) -> None:
    check_refused(run("chat", "say", ID, "x", "--kind", "shrugged"), 1, "no kind 'shrugged'")
    check_refused(
        run("chat", "say", ID, "x", "--kind", "tool_use_requested"),
        1,
        "a JSON object with tool_use_id",
    )
    check_refused(run("chat", "say", ID, "{}", "--kind", "tool_use_requested"), 1, "tool_use_id")
    check_refused(run("chat", "say", ID, "x", "--kind", "slot.voided"), 1, "slot.voided")
    check_refused(run("chat", "show", ID), 1, "has no events")
    check_refused(run("chat", "verify", ID, "--key", "nonsense"), 2, "not a public key")
    for arguments in (["chat", "shout"], ["chat", "say", ID], ["chat", "show", "no-id"]):
        wrong = run(*arguments)
        assert (wrong.code, wrong.out) == (2, "")


@pytest.mark.usefixtures("written")
def test_show_prints_in_reading_order_with_each_result_below_its_request(run: Run) -> None:
    assert run("chat", "show", ID).out == SHOWN
    shown = run("chat", "show", ID, "--json").document
    assert shown["id"] == str(ID)
    assert [(item["seq"], item["state"], item["pair"]) for item in shown["items"]][2:6] == [
        (2, "completed", 4),
        (3, "failed", 5),
        (4, "completed", 2),
        (5, "failed", 3),
    ]


def test_show_marks_what_is_still_open(run: Run, home: Path) -> None:
    write(leave_open)
    lines = run("chat", "show", ID).lines
    assert lines[0] == "    0 tool       “slow” “{}”"
    assert lines[1] == f"    1 approval   “send” “{{}}” (waits for a decision until {LATER})"
    assert lines[2].startswith('    2 reserved   “{"tool": "slow"}” (until ')
    assert lines[3] == "    3 result     of “stray”, without a request: “1”"


def test_a_number_reserved_for_a_result_is_shown_below_its_request(
    run: Run, home: Path, spawn: Callable[..., Process]
) -> None:
    async def ask(_: App, conversation: Conversation) -> None:
        calls = [tool("one", tool_args={}), tool("two", tool_args={}), tool("three", tool_args={})]
        async with conversation.tools(calls) as tools:
            await tools[1].deny("not you")
            shown.extend((await asyncio.to_thread(spawn("chat", "show", ID).end, signal.SIGCONT)).lines)

    shown: list[str] = []
    write(ask)
    assert [line.split(" (until")[0] for line in shown] == [
        "    0 tool       “one” “{}”",
        '    3   ↳        “{"kind": "tool_use_completed", "tool_use_id": "one"}”',
        "    1 tool       “two” “{}”",
        "    4   ↳        denied (“not you”)",
        "    2 tool       “three” “{}”",
        '    5   ↳        “{"kind": "tool_use_completed", "tool_use_id": "three"}”',
    ]
    assert run("chat", "show", ID).lines[1] == "    3   ↳        “abandoned: nobody answered”"


def test_texts_cannot_control_the_terminal(run: Run, home: Path) -> None:
    evil = "\x1b[2J\x1b]0;mine\x07 \u202egnp.exe \x9b31m [red]bold[/red]"
    run("chat", "say", ID, evil, "--as", "eve\x1b[0m")
    (line,) = run("chat", "show", ID).lines
    assert not set(line) & {"\x1b", "\x07", "\u202e", "\x9b"}
    assert "[red]bold[/red]" in line
    run("chat", "say", ID, json.dumps(result("t", "long" * 1000)), "--kind", "tool_use_completed")
    assert "(4,000 characters)" in run("chat", "show", ID).lines[1]


def test_commands_quote_whoever_speaks(run: Run, home: Path) -> None:
    """An actor, a tool, a reason and the name of a document stood in commands as words of ours."""
    chance = random.Random(28)
    say = [hostile(chance).replace("\x00", "").replace("\ud800", "") for _ in range(12)]
    documents: list[UUID] = []

    async def talk(app: App, conversation: Conversation) -> None:
        await conversation.append("user_message_sent", {"content": say[0]}, actor=say[1])
        await conversation.append(
            "tool_use_requested", tool(say[2], tool_args={say[3]: say[4]}), actor=say[5]
        )
        await conversation.append("tool_use_completed", result(say[2], None, say[6]))
        await conversation.append("turn_paused", {"reason": say[7]}, actor=say[8])
        document = await app.documents.add(b"We agree.", name=say[9], actor=say[10])
        await document.revoke(reason=say[11])
        documents.append(document.id)

    write(talk)
    [document] = documents
    listed = (("chat",), ("status",), ("jobs", "list"), ("chat", "show", ID), ("events", ID))
    for arguments in (*listed, ("events", document), ("status", document), ("explain", document)):
        ran = run(*arguments)
        assert ran.code == 0, ran.err
        assert MARK not in re.sub(QUOTATION, "", ran.out), arguments
    assert MARK in run("events", ID).out


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_follow_prints_a_line_for_each_event_to_a_pipe(
    number: signal.Signals, code: int, spawn: Callable[..., Process]
) -> None:
    process = spawn("chat", "follow", ID, "--after", 8)
    assert [process.line().split()[0] for _ in range(4)] == ["9", '{"n":', "10", "11"]

    async def continue_writing(_: App, conversation: Conversation) -> None:
        slots = await conversation.reserve(1, ttl=600, intents=["late"])
        await conversation.append("user_message_sent", {"content": "next"})
        await slots.fill(0, "thinking", {"content": "filled"})

    write(continue_writing)
    awaited, seen = {"user       “next”", "thinking   “filled”"}, set[str]()
    while not awaited <= seen:  # the open slot may be printed too
        seen.add(process.line().split(None, 1)[1].strip())
    ended = process.end(number)
    assert (ended.code, ended.err) == (code, "")


@pytest.mark.usefixtures("written")
def test_follow_prints_json(spawn: Callable[..., Process]) -> None:
    process = spawn("chat", "follow", ID, "--json")
    assert [json.loads(process.line())["seq"] for _ in range(12)] == list(range(12))
    write(lambda _, conversation: conversation.append("thinking", {"content": "live"}))  # type: ignore[arg-type, return-value]
    assert json.loads(process.line())["payload"] == {"content": "live"}
    process.kill()
    lost = spawn("chat", "follow", ID, "--after", "nonsense").end(signal.SIGCONT)
    assert (lost.code, lost.out) == (2, "")
    assert "not a cursor" in lost.err


@pytest.mark.usefixtures("written")
def test_verify_prints_what_is_proven_and_what_is_not(run: Run) -> None:
    ran = run("chat", "verify", ID)
    assert (ran.code, ran.err) == (0, "")
    for text in (
        "✓ numbers 0 to 11: none is missing",
        "✓ 11 bodies match their hashes, and their ids match their keys; 1 erased",
        "✓ the chain of events 0 to 11, derived again, ends at the stored head",
        "✓ event 11 and all before it are in the log: leaf 11 of",
        "· that others saw the same checkpoint",
    ):
        assert text in ran.out
    write(leave_open)
    ran = run("chat", "verify", ID)
    assert ran.code == 0
    for text in (
        "✓ numbers 0 to 15",
        "✓ event 11 and all before it are in the log",
        "· no published checkpoint covers events 12 to 13 yet",
        "· not chained yet, because a lower number is open or no worker runs: 15",
        "· reserved and not filled: 14",
        "· tools without a result: 12",
        "· results without a request: 15",
        "· approvals without a decision: 13",
    ):
        assert text in ran.out
    document = run("chat", "verify", ID, "--json").document
    assert (document["clean"], document["counts"], len(document["proven"])) == (
        True,
        {"events": 15, "streams": 1},
        4,
    )


@pytest.mark.usefixtures("written")
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
def test_verify_names_the_changed_event(
    run: Run, admin: psycopg.Connection[Any], statement: str, check: str, seq: int
) -> None:
    disarm(admin).execute(statement.encode())
    ran = run("chat", "verify", ID)
    assert ran.code == 1
    assert f"✗ event {seq} of stream {ID}: {check}: " in ran.out
    assert "✓" not in ran.out
    assert run("chat", "verify", ID, "--json").document["first"]["check"] == check


@pytest.mark.usefixtures("written")
def test_verify_does_not_report_an_unfinished_write_as_missing(
    run: Run, admin: psycopg.Connection[Any]
) -> None:
    write(leave_open)
    admin.execute("delete from foja.slot")
    assert "event 14 of stream" in run("chat", "verify", ID).out
    admin.execute("update foja.entity set lane = 'redis', fence = gen_random_uuid()")
    ran = run("chat", "verify", ID)
    assert ran.code == 0
    assert "✓ numbers 0 to 13: none is missing" in ran.out
    assert "· numbered by Redis, to be recorded or voided soon: 14" in ran.out


@pytest.mark.usefixtures("written")
def test_verify_checks_the_published_files_too(run: Run, home: Path) -> None:
    (note,) = home.rglob("checkpoint")
    published = note.read_text()
    note.write_text(published.replace("\n12\n", "\n11\n"))
    assert "✗ log: checkpoint: " in run("chat", "verify", ID).out
    note.unlink()
    assert run("chat", "verify", ID).code == 1
    note.write_text(published)
    assert run("chat", "verify", ID).code == 0
    for tile in home.rglob("tile/0/*"):
        tile.is_dir() or tile.write_bytes(bytes(len(tile.read_bytes())))
    for tile in home.rglob("tile/0/000.p/*"):
        tile.write_bytes(bytes(len(tile.read_bytes())))
    ran = run("chat", "verify", ID)
    assert (ran.code, f"event 11 of stream {ID}: root" in ran.out) == (1, True)


def test_verify_works_before_a_log_is_published(run: Run, home: Path) -> None:
    write(leave_open)
    ran = run("chat", "verify", ID)
    assert ran.code == 0
    assert "are in the log" not in ran.out
    assert "no published checkpoint covers events 0 to 1 yet" in ran.out
    check_refused(run("chat", "verify", UUID(int=0xB)), 1, "has no events; check the id and FOJA_TENANT")
