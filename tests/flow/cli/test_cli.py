"""The command `foja`, run in this process and as a separate process."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

import foja
from foja.engine.embedded.postgres import running
from foja.interfaces.cli import load_command
from foja.interfaces.cli.parser import build_parser
from foja.pure.core.canonical import canonical
from tests.cases import all_cases
from tests.database.schema.rows import disarm
from tests.flow.command import FOJA, Process, Run, check_refused
from tests.other_tools import SCITT, agreed

ID = UUID(int=0xA)


@pytest.fixture
def published_events(home: Path) -> None:
    """Append six events and publish them."""
    asyncio.run(write(6))


async def write(count: int, *, work: bool = True) -> None:
    async with foja.connect() as app:
        conversation = await app.conversations.open(ID)
        for turn in range(count):
            await conversation.append("user_message_sent", {"content": f"message {turn} ✓"}, actor="ana")
        if work:
            await app.work(until_idle=True)


@pytest.fixture
def attacker(admin: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    return disarm(admin)


def verbs(
    parser: ArgumentParser, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for name, inner in action.choices.items():
                yield (*path, name), inner
                yield from verbs(inner, (*path, name))


@all_cases("path", [path for path, _ in verbs(build_parser())], ids=" ".join)
def test_every_verb_has_help_and_a_function(path: tuple[str, ...], run: Run) -> None:
    helped = run(*path, "--help")
    assert helped.code == 0
    assert f"foja {' '.join(path)}" in helped.out
    function = dict(verbs(build_parser()))[path].get_default("run")
    assert callable(load_command(Namespace(run=function)))


def test_the_parser_imports_nothing_heavy() -> None:
    code = (
        "import sys; from foja.interfaces.cli.parser import build_parser; build_parser(); print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"psycopg", "obstore", "cryptography", "pydantic", "rich", "foja.app"} & set(loaded)


def test_version_and_usage(run: Run) -> None:
    assert run("--version").out == f"foja {foja.__version__}\n"
    for arguments in (
        [],
        ["nonsense"],
        ["events"],
        ["events", "x"],
        ["log", "prove", str(ID), "-1"],
        ["bench", "--seconds", "0"],
    ):
        wrong = run(*arguments)
        assert (wrong.code, wrong.out) == (2, "")
        assert wrong.err.startswith("usage: foja")


@pytest.mark.parametrize(
    ("words", "exit_code", "error", "retryable"),
    [
        (["audit", "--database-url", "postgresql://postgres@127.0.0.1:1/foja"], 2, "LedgerUnavailable", True),
        (["events", ID], 1, "UnknownEntity", False),
        (["retry", UUID(int=7)], 1, "UnknownEntity", False),
        (["verify", "--digest", "nonsense"], 2, "Refused", False),
        (["log", "verify", "absent", "--key", "x"], 2, "FileNotFoundError", False),
    ],
)
def test_an_error_has_a_code_for_programs(
    run: Run, words: list[object], exit_code: int, error: str, *, retryable: bool
) -> None:
    ran = run(*words, "--json")
    assert (ran.code, ran.out) == (exit_code, "")
    found = json.loads(ran.err)
    assert found.keys() == {"error", "code", "retryable", "detail"}
    assert (found["error"], found["retryable"]) == (error, retryable)
    ours = getattr(foja.errors, error, None)
    assert found["code"] == (ours.code if ours else "os_error")
    assert found["detail"]


def test_an_error_of_the_installation_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_database_url: str
) -> None:
    no_server = "postgresql://postgres@127.0.0.1:1/foja"
    cases: list[tuple[list[object], str]] = [
        (["audit", "--database-url", no_server], "does not answer"),
        (["events", ID, "--database-url", no_server], "does not answer"),
        (["audit", "--database-url", "nonsense"], "postgresql://"),
        (["migrate", "--database-url", "postgresql://x?no=thing"], "postgresql://"),
        (["audit", "--database-url", empty_database_url], "foja migrate"),
        (["log", "verify", tmp_path / "absent", "--key", "x"], "absent: No such file"),
        (["fsck", "--home", tmp_path], "--key"),
        (["fsck", "--checkpoint", tmp_path / "absent"], "No such file"),
    ]
    for arguments, message in cases:
        check_refused(run(*arguments), 2, message)
    monkeypatch.setenv("FOJA_WRITERS", "none")
    check_refused(run("audit"), 2, "FOJA_WRITERS")
    monkeypatch.delenv("FOJA_WRITERS")
    monkeypatch.delenv("FOJA_DATABASE_URL")
    check_refused(run("fsck"), 2, "nothing is installed in")
    assert not (tmp_path / "home").exists()


def test_migrate_goes_forward_and_back_and_prints_its_status(run: Run, empty_database_url: str) -> None:
    target = ("--database-url", empty_database_url)
    assert run("migrate", "--status", *target).code == 1
    assert run("migrate", "--to", 1, "--json", *target).document == {"before": 0, "after": 1, "domains": []}
    newest = run("migrate", "--json", *target).document["after"]
    assert run("migrate", *target).lines == [f"the schema is at step {newest}"]
    status = run("migrate", "--status", "--json", *target)
    assert (status.code, {step["state"] for step in status.document}) == (0, {"applied"})
    assert "ledger" in run("migrate", "--status", *target).out
    assert run("migrate", "--to", 0, "--yes", *target).lines[-1] == "the schema is at step 0"
    check_refused(run("migrate", "--to", 99, *target), 2, "no migration 99")


@pytest.mark.usefixtures("published_events")
def test_events_are_printed_as_text_and_as_json(run: Run) -> None:
    assert [line.split()[0] for line in run("events", ID).lines] == [
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
    ]
    assert "message 2 ✓" in run("events", ID).lines[2]
    events = [json.loads(line) for line in run("events", ID, "--after", 3, "--json").lines]
    assert [(event["seq"], event["_source"], event["correlation_id"]) for event in events] == [
        (4, "api", str(ID)),
        (5, "api", str(ID)),
    ]
    assert run("events", ID, "--after", events[0]["cursor"], "--json").document["seq"] == 5
    assert len(run("events", ID, "--limit", 2).lines) == 2
    log = [json.loads(line) for line in run("events", "log", "--json", "--limit", 3).lines]
    assert [event["seq"] for event in log] == [0, 1, 2]
    assert len(run("events", "log", "--after", log[-1]["cursor"]).lines) == 3


@pytest.mark.usefixtures("published_events")
def test_events_that_cannot_be_read_are_refused(run: Run) -> None:
    check_refused(run("events", UUID(int=0xC)), 1, "has no events")
    check_refused(run("events", ID, "--after", "other:3"), 1, "another history")


@pytest.mark.usefixtures("published_events")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_events_follows_until_it_is_interrupted(
    number: signal.Signals, code: int, spawn: Callable[..., Process]
) -> None:
    process = spawn("events", ID, "--after", 4, "--follow", "--json")
    assert json.loads(process.line())["seq"] == 5
    asyncio.run(write(1, work=False))
    assert json.loads(process.line())["seq"] == 6
    ended = process.end(number)
    assert (ended.code, ended.err) == (code, "")


@pytest.mark.usefixtures("published_events")
@pytest.mark.parametrize(
    "arguments", [("events", UUID(int=0xC), "--follow"), ("chat", "follow", UUID(int=0xC))]
)
def test_following_an_empty_stream_prints_a_warning(
    arguments: tuple[object, ...], spawn: Callable[..., Process]
) -> None:
    process = spawn(*arguments)
    assert "check the id" in process.error_line().lower()
    assert process.end(signal.SIGTERM).code == 143


@pytest.mark.usefixtures("published_events")
def test_a_closed_pipe_ends_a_command_without_an_error() -> None:
    arguments = f"events {ID} --follow"
    script = f"{' '.join(FOJA)} {arguments} | head -n 1"
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert "message 0" in process.stdout.readline()
    asyncio.run(write(1, work=False))
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, "")


@pytest.mark.usefixtures("published_events")
def test_audit_and_fsck_end_with_0_on_a_healthy_ledger(run: Run) -> None:
    audit, fsck = run("audit"), run("fsck", "--tiles")
    assert (audit.code, audit.lines) == (0, ["clean: 1 streams, 0 waiting, 0 open slots"])
    assert (fsck.code, fsck.err) == (0, "")
    assert "6 events, 6 leaves" in fsck.out
    assert run("fsck", "--json").document["clean"] is True


@pytest.mark.usefixtures("published_events")
def test_fsck_names_the_changed_event(run: Run, attacker: psycopg.Connection[Any]) -> None:
    attacker.execute("update foja.event set actor = 'eva' where seq = 2")
    ran = run("fsck")
    assert (ran.code, ran.lines[0]) == (1, f"first: event 2 of stream {ID}")
    document = run("fsck", "--json").document
    assert (document["total"], document["first"]["seq"], document["first"]["check"]) == (1, 2, "body")


@pytest.mark.usefixtures("published_events")
def test_audit_reports_a_halted_log(run: Run, attacker: psycopg.Connection[Any]) -> None:
    attacker.execute("update foja.log set halted = 'for a test'")
    ran = run("audit", "--json")
    assert (ran.code, ran.document["first"]["check"]) == (1, "halted")
    assert run("log").code == 1


@pytest.mark.usefixtures("published_events")
def test_a_checkpoint_saved_elsewhere_reveals_a_truncated_log(
    run: Run, attacker: psycopg.Connection[Any], tmp_path: Path
) -> None:
    saved, key = tmp_path / "kept.checkpoint", tmp_path / "kept.vkey"
    assert run("log", "checkpoint", "-o", saved).code == 0
    assert saved.read_text() == run("log", "checkpoint").out
    key.write_text(run("log", "key").out)
    assert run("fsck", "--checkpoint", saved, "--key", key).code == 0
    attacker.execute("delete from foja.leaf where idx > 2")
    attacker.execute("delete from foja.checkpoint")
    ran = run("fsck", "--checkpoint", saved)
    assert ran.code == 1
    assert "the checkpoint kept outside" in ran.out
    saved.write_bytes(b"\xff\xfe")
    assert "not a signed note" in run("fsck", "--checkpoint", saved).err


@pytest.mark.usefixtures("published_events")
def test_the_log_is_listed_and_restarted(run: Run) -> None:
    (log,) = run("log", "--json").document
    assert (log["origin"], log["size"], log["published"], log["halted"]) == (1, 6, 6, None)
    check_refused(run("log", "restart"), 2, "--yes")
    assert run("log", "restart", "--yes", "--json").document["origin"] == 2
    assert "closed at 6" in run("log", "status").out
    assert run("log", "checkpoint", "--json").document["checkpoint"].splitlines()[1] == "6"
    assert run("fsck").code == 0


@pytest.mark.usefixtures("published_events")
def test_a_proof_is_verified_without_database_or_settings(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof, event = tmp_path / "sheet.tlog-proof", tmp_path / "sheet.event.json"
    assert f"{proof} and {event}" in run("log", "prove", ID, 3, "-o", proof).out
    key = run("log", "key").out.strip()
    monkeypatch.setenv("FOJA_DATABASE_URL", "postgresql://nowhere.invalid/x")
    monkeypatch.setenv("FOJA_WRITERS", "nonsense")
    assert "leaf 3 of the log" in run("log", "verify", proof, "--key", key).out
    result = run("log", "verify", proof, "--event", event, "--key", key, "--json").document
    assert (result["verified"], result["seq"], result["body"]) == (True, 3, "verified")
    assert run("log", "verify", proof, "--entry", result["entry"], "--key", key).code == 0
    event.write_text(event.read_text().replace("message 3", "message 4"))
    check_refused(run("log", "verify", proof, "--key", key), 1, "does not match its hash")
    refused = run("log", "verify", proof, "--key", key, "--json")
    assert (refused.code, refused.document["verified"]) == (1, False)
    withheld = json.loads(event.read_text()) | {"salt": None}
    withheld["event"] |= {"v": None, "actor": None, "_source": None, "payload": None}
    event.write_bytes(canonical(withheld) + b"\n")
    undecided = run("log", "verify", proof, "--key", key)
    assert (undecided.code, "withheld" in undecided.out) == (2, True)
    event.unlink()
    check_refused(run("log", "verify", proof, "--key", key), 2, "--entry HEX")
    check_refused(run("log", "verify", proof, "--entry", "00", "--key", "nonsense"), 2, "not a public key")


@pytest.mark.usefixtures("published_events")
def test_a_receipt_is_verified_by_foja_and_by_scitt_cose(run: Run, tmp_path: Path) -> None:
    receipt, event, key = tmp_path / "a.cose", tmp_path / "a.event.json", tmp_path / "foja.vkey"
    written = run("log", "receipt", ID, 3, "-o", receipt, "--json").document
    assert (written["receipt"], written["event"]) == (str(receipt), str(event))
    key.write_text(run("log", "key").out)
    assert run("verify", event, "--proof", receipt, "--trust", key).code == 0
    (tmp_path / "log.pem").write_text(run("log", "key", "--pem").out)
    words = [str(Path(sys.executable).with_name("scitt-cose")), "--receipt", str(receipt)]
    words += ["--receipt-log-pubkey", str(tmp_path / "log.pem")]
    for entry, code in ((written["entry"], 0), ("00", 1)):
        ran = subprocess.run([*words, "--leaf-entry-hex", entry], capture_output=True, check=False)
        assert ran.returncode == code, ran.stdout
    agreed("COSE receipts", SCITT)
    check_refused(run("log", "receipt", ID, 99, "-o", tmp_path / "b.cose"), 1, "has no event 99")


@pytest.mark.usefixtures("published_events")
def test_a_receipt_shows_that_the_log_continues_an_older_checkpoint(run: Run, tmp_path: Path) -> None:
    older, receipt, key = tmp_path / "old.checkpoint", tmp_path / "growth.cose", tmp_path / "foja.vkey"
    older.write_text(run("log", "checkpoint").out)
    key.write_text(run("log", "key").out)
    asked = ("log", "receipt", "--checkpoint", older, "-o", receipt)
    check_refused(run(*asked), 2, "no newer checkpoint")
    asyncio.run(write(1))
    assert run(*asked, "--json").document == {"receipt": str(receipt), "checkpoint": str(older)}
    found = run("verify", older, "--proof", receipt, "--trust", key)
    assert found.code == 0, found.out
    assert "of this checkpoint" in found.out
    check_refused(run("log", "receipt", "-o", receipt), 1, "--checkpoint")
    check_refused(run("log", "receipt", ID, 3, "--checkpoint", older, "-o", receipt), 1, "not both")
    older.write_text(older.read_text().replace("\n\n", "\nmore\n\n"))
    check_refused(run(*asked, "--force"), 1, "not a checkpoint of this log")


@pytest.mark.usefixtures("published_events")
def test_an_exported_history_is_verified_without_the_database(run: Run, tmp_path: Path) -> None:
    export, key = tmp_path / "history.jsonl", tmp_path / "foja.vkey"
    exported = run("log", "export", ID, "-o", export)
    proof = tmp_path / "history.tlog-proof"
    assert exported.code == 0
    assert f"{export} and their proof to {proof}: TOTAL_PASSED" in exported.out
    key.write_text(run("log", "key").out)
    verify = ("verify", export, "--proof", proof)
    assert run(*verify, "--trust", key).code == 0
    assert run(*verify).code == 2
    assert run("verify", export, "--trust", key).code == 2
    changed = export.read_bytes().replace(b'"content":"', b'"content":"not ', 1)
    export.write_bytes(changed)
    assert run(*verify, "--trust", key).code == 1
    check_refused(run("log", "export", UUID(int=99), "-o", export, "--force"), 1, "FOJA_TENANT")
    assert run("log", "export", ID, "-o", export, "--force", "--json").document["verdict"] == "TOTAL_PASSED"


@pytest.mark.usefixtures("published_events")
def test_a_proof_can_be_piped_and_an_unknown_event_has_none(run: Run, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    assert run("log", "prove", ID, 0, "--event", event).lines[0] == "c2sp.org/tlog-proof@v1"
    assert json.loads(event.read_text())["event"]["seq"] == 0
    assert set(run("log", "prove", ID, 0, "--json").document) == {"proof", "event", "key"}
    check_refused(run("log", "prove", ID, 99), 1, "has no event 99")
    check_refused(run("log", "prove", UUID(int=0xC), 0), 1, "FOJA_TENANT")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_worker_runs_until_it_is_stopped(
    number: signal.Signals, code: int, run: Run, spawn: Callable[..., Process]
) -> None:
    asyncio.run(write(3, work=False))
    process = spawn("worker", "--json")
    assert json.loads(process.line())["database"].startswith("postgresql://")
    wait_for(lambda: [log["published"] for log in run("log", "--json").document] == [3])
    ended = process.end(number)
    assert (ended.code, ended.err) == (code, "")
    assert ended.out == ('{"stopped":true}\n' if code == 0 else "")


def test_up_starts_an_embedded_database_and_stops_it(
    run: Run, spawn: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FOJA_DATABASE_URL")
    with tempfile.TemporaryDirectory(prefix="foja-test-") as folder:
        process = spawn("up", "--port", 0, "--home", folder)
        printed = [process.line() for _ in range(9)]
        assert [line.split()[0] for line in printed] == [
            "starting",
            "home",
            "database",
            "redis",
            "objects",
            "timestamps",
            "worker",
            "log",
            "running",
        ]
        assert running(Path(folder)) is not None
        assert run("audit", "--home", folder).code == 0
        ended = process.end(signal.SIGTERM)
        assert (ended.code, ended.out, ended.err) == (0, "stopped\n", "")
        assert running(Path(folder)) is None


def test_an_interrupted_start_leaves_nothing_running(
    spawn: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FOJA_DATABASE_URL", raising=False)
    with tempfile.TemporaryDirectory(prefix="foja-test-") as folder:
        process = spawn("worker", "--home", folder)
        wait_for((Path(folder) / "postgres.turn").exists)
        assert process.end(signal.SIGINT).code == 130
        assert running(Path(folder)) is None


def test_bench_leaves_the_ledger_and_the_server_unchanged(run: Run, admin: psycopg.Connection[Any]) -> None:
    results = run("bench", "--seconds", 0.2, "--json").document
    assert [result["case"] for result in results][:3] == ["1 caller", "16 callers", "64 callers"]
    assert all(result["events_per_second"] > 0 for result in results)
    left = admin.execute("select datname from pg_database where datname like 'foja_scratch%'").fetchall()
    assert left == []
    assert admin.execute("select count(*) from foja.event").fetchone() == (0,)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
