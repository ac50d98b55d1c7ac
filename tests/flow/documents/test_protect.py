"""`foja protect`, `status`, `explain`, `retry`: as text, as JSON, and after an interruption."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from foja.errors import WrongSource
from foja.interfaces.cli.documents.files import walk
from foja.interfaces.cli.documents.protect import wait_unless_failed
from foja.pure.proofs.tsa import LOCAL_NOTICE
from tests.cases import all_cases
from tests.database.documents.papers import Paper
from tests.database.schema.rows import Admin
from tests.flow.command import FOJA, Process, Run, check_refused
from tests.rules.authorities import root

FILES = 60
PAPER, BUNDLE = "paper.txt", "paper.asice"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files of many sizes in subfolders, some with the same bytes."""
    return fill(tmp_path / "papers", FILES)


def fill(root: Path, count: int) -> Path:
    for n in range(count):
        path = root / f"{n % 7}" / f"{n} ñ.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"same" if n % 10 == 0 else os.urandom(n * n * 11))
    return root


def count_tokens(admin: Admin) -> dict[Any, int]:
    rows = admin.execute(
        "select entity_id, count(*) from foja.event where kind = 'tsa.confirmed' group by entity_id"
    ).fetchall()
    return dict(rows)


def test_a_folder_is_protected_and_reported(run: Run, folder: Path, admin: Admin) -> None:
    ran = run("protect", folder, "--wait", "--json")
    assert ran.code == 0, ran.err
    reported = [json.loads(line) for line in ran.lines]
    assert {each["name"] for each in reported} == {
        path.relative_to(folder.parent).as_posix() for path in folder.rglob("*.bin")
    }
    assert {each["state"] for each in reported} == {"final"}
    assert {each["note"] for each in reported} == {LOCAL_NOTICE}
    assert sorted(count_tokens(admin).values()) == [1] * FILES
    again = run("protect", folder, "--wait")
    assert again.code == 0
    assert f"0 added, {FILES} known" in again.out
    assert LOCAL_NOTICE in again.out
    assert sorted(count_tokens(admin).values()) == [1] * FILES


def test_interrupted_and_run_again_nothing_is_stamped_twice_and_nothing_lost(
    run: Run, folder: Path, admin: Admin, database_url: str, tmp_path: Path
) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        run_and_interrupt(folder, admin, database_url, tmp_path, number)
        expire_leases(admin)
    ran = run("protect", folder, "--wait", "--json")
    assert ran.code == 0, ran.err
    assert len(ran.lines) == FILES
    assert sorted(count_tokens(admin).values()) == [1] * FILES


@pytest.mark.long
def test_a_thousand_files_interrupted_again_and_again(
    run: Run, admin: Admin, database_url: str, tmp_path: Path
) -> None:
    root = tmp_path / "many"
    texts = [b"", b"the same", "año nuevo\n".encode() * 50, b"%PDF-1.7\n", b"\x00" * 300_000]
    for n in range(1000):  # empty, equal, text, binary, small and large, each with its own name
        path = root / f"{n % 37}" / "ñ" / f"{n}.{('txt', 'pdf', 'bin')[n % 3]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(texts[n % 5] if n % 2 else os.urandom(n))
    for number in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        run_and_interrupt(root, admin, database_url, tmp_path, number)
        expire_leases(admin)
    ran = run("protect", root, "--wait", "--json")
    assert ran.code == 0, ran.err
    assert sorted(count_tokens(admin).values()) == [1] * 1000


def run_and_interrupt(folder: Path, admin: Admin, url: str, home: Path, number: signal.Signals) -> None:
    """Run the command until it has stamped more documents, and end it."""
    before = len(count_tokens(admin))
    arguments = ["protect", str(folder), "--wait", "--database-url", url, "--home", str(home / "home")]
    process = subprocess.Popen([*FOJA, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(count_tokens(admin)) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(number)
    process.wait(timeout=60)


def expire_leases(admin: Admin) -> None:
    """Wait until the killed processes are disconnected, then expire their leases."""
    others = "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    while admin.execute(others.encode()).fetchall():
        time.sleep(0.01)
    admin.execute("update foja.job set lease_until = clock_timestamp() where state = 'running'")


def test_an_unreadable_file_is_reported_and_the_others_are_protected(run: Run, tmp_path: Path) -> None:
    (tmp_path / "there.txt").write_text("there")
    ran = run("protect", tmp_path / "there.txt", tmp_path / "gone.txt", "--wait")
    assert ran.code == 1
    assert "gone.txt" in ran.err
    assert "1 added, 0 known, 1 could not be read" in ran.out


def test_every_skipped_entry_of_a_folder_is_reported(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, elsewhere = tmp_path / "papers", tmp_path / "elsewhere"
    for folder in (root / "open", root / "locked", elsewhere):
        folder.mkdir(parents=True)
        (folder / "paper.txt").write_text(folder.name)
    (root / "open" / "link.txt").symlink_to(elsewhere / "paper.txt")
    (root / "linked folder").symlink_to(elsewhere)
    os.mkfifo(root / "pipe")
    scan = os.scandir

    def refuse(path: Any = ".") -> Any:
        if Path(path).name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    ran = run("protect", root)
    assert ran.code == 1
    assert "1 added, 0 known, 1 could not be read" in ran.out
    assert "skipped: 2 links, 1 special file" in ran.out
    assert ran.err.splitlines() == [f"foja: {root / 'locked'}: Permission denied"]
    reported = [json.loads(line) for line in run("protect", root, "--json").lines]
    assert [each["name"] for each in reported if "id" in each] == ["papers/open/paper.txt"]
    left_out = {each["path"]: each["left_out"] for each in reported if "left_out" in each}
    assert left_out == {
        str(root / "open" / "link.txt"): "link",
        str(root / "linked folder"): "link",
        str(root / "pipe"): "special file",
    }
    [unread] = [each for each in reported if "error" in each]
    assert unread == {
        "path": str(root / "locked"),
        "error": "PermissionError",
        "code": "os_error",
        "detail": "Permission denied",
    }


def test_a_folder_that_disappears_while_it_is_read_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        (tmp_path / f"{n}").mkdir()
        (tmp_path / f"{n}" / "paper.txt").write_text("paper")
    found = walk([tmp_path])
    assert [path.relative_to(tmp_path).parts[0] for path, _ in found.files] == ["0", "1", "2"]
    assert (found.unread, found.left_out) == ([], [])
    scan = os.scandir

    def remove_then_scan(path: Any = ".") -> Any:
        if str(path) == str(tmp_path / "1"):
            shutil.rmtree(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", remove_then_scan)
    found = walk([tmp_path])
    assert [path.relative_to(tmp_path).parts[0] for path, _ in found.files] == ["0", "2"]
    [(path, error)] = found.unread
    assert path == tmp_path / "1"
    assert isinstance(error, FileNotFoundError)


def test_waiting_succeeds_only_with_all_requested_evidence(run: Run, tmp_path: Path, admin: Admin) -> None:
    """A missing anchor or artifact counts like a missing timestamp."""
    paper = tmp_path / "paper.txt"
    paper.write_bytes(b"paper")
    assert run("jobs", "pause", "build_artifact").code == 0
    ran = run("protect", paper, "--wait")
    assert ran.code == 1, "stamped, and not final"
    assert "1 lacks requested evidence or the artifact" in ran.out
    assert "the artifact" in ran.out
    assert "paused: build_artifact" in ran.out
    assert run("jobs", "resume", "build_artifact").code == 0
    assert run("protect", paper, "--wait").code == 0
    admin.execute("insert into foja.ability values ('polygon')")
    anchored = tmp_path / "anchored.txt"
    anchored.write_bytes(b"anchored")
    assert run("jobs", "pause", "submit_anchor_polygon").code == 0
    ran = run("protect", anchored, "--evidence", "tsa,polygon", "--wait")
    assert ran.code == 1, "no worker here makes anchors"
    assert "Polygon" in ran.out


@pytest.mark.long
def test_waiting_for_an_artifact_includes_the_next_checkpoint(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOJA_CHECKPOINT_SECONDS", "7")
    paper = tmp_path / "paper.txt"
    paper.write_bytes(b"paper")
    assert run("protect", paper, "--wait", "--json").document["state"] == "final"


def test_an_installation_without_artifacts_needs_only_the_evidence(
    run: Run, tmp_path: Path, admin: Admin
) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_bytes(b"paper")
    admin.execute("delete from foja.ability where evidence = 'artifact'")
    assert run("protect", paper, "--wait").code == 0


def test_a_refused_file_is_not_counted_as_unreadable(run: Run, tmp_path: Path, admin: Admin) -> None:
    paper, closed = tmp_path / "paper.txt", tmp_path / "closed.txt"
    paper.write_bytes(b"paper")
    closed.write_bytes(b"closed")
    assert run("protect", paper, "--wait").code == 0
    added = run("protect", closed, "--json").document
    Paper(admin, added["id"]).append("document.archived", {"reason": "old"})
    admin.execute("insert into foja.ability values ('polygon')")
    ran = run("protect", paper, closed, "--evidence", "tsa,polygon")
    assert ran.code == 1
    assert "0 added, 0 known, 0 could not be read, 2 refused" in ran.out
    reported = [
        json.loads(line)
        for line in run("protect", paper, closed, "--evidence", "tsa,polygon", "--json").lines
    ]
    assert {(each["path"], each["error"], each["code"]) for each in reported} == {
        (str(paper), "DocumentFinal", "document_final"),
        (str(closed), "DocumentClosed", "document_closed"),
    }


def test_a_new_version_names_its_predecessor(run: Run, tmp_path: Path) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_bytes(b"first")
    first = run("protect", paper, "--wait", "--json").document
    paper.write_bytes(b"second")
    ran = run("protect", paper, "--predecessor", first["id"], "--wait", "--json")
    assert ran.code == 0, ran.err
    second = ran.document
    assert f"predecessor{first['id']}" in run("status", paper).out.replace(" ", "")
    assert f"successors{second['id']}" in run("status", first["id"]).out.replace(" ", "")
    reported = run("status", paper, "--json").document
    assert (reported["id"], reported["predecessor"], reported["successors"]) == (
        second["id"],
        first["id"],
        [],
    )
    assert run("protect", paper, "--predecessor", first["id"], "--json").document["new"] is False
    unknown = str(uuid4())
    ran = run("protect", paper, "--predecessor", unknown)
    assert ran.code == 1
    assert unknown in ran.err
    for several in ([paper, paper], [tmp_path]):
        check_refused(run("protect", *several, "--predecessor", first["id"]), 2, "one file")


def test_without_waiting_a_worker_is_needed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a")
    ran = run("protect", path, "--hash-only")
    assert ran.code == 0
    assert "foja worker" in ran.out
    reported = run("explain", path)
    assert "No worker is running for protect_document_v2: start `foja worker`" in reported.out
    assert run("protect", path, "--hash-only", "--wait").code == 0
    assert "It is final" in run("explain", path).out


def test_while_a_worker_runs_none_has_to_be_started(
    run: Run, spawn: Callable[..., Process], tmp_path: Path, admin: Admin
) -> None:
    """It said "run `foja worker`" beside a worker that ran."""
    path = tmp_path / "a.txt"
    path.write_text("a")
    assert run("jobs", "pause", "run_tsa").code == 0  # the document still waits when the command ends
    spawn("worker")
    deadline = time.monotonic() + 60
    while not admin.execute("select from foja.worker").fetchall():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    ran = run("protect", path, "--hash-only")
    assert "1 wait for the worker that runs: `foja status` shows how far it is" in ran.lines
    assert "foja worker" not in ran.out


def test_status_shows_the_list_and_one_document(run: Run, folder: Path) -> None:
    run("protect", folder, "--wait")
    listed = run("status", "--limit", "3")
    assert len(listed.lines) == 5
    path = next(folder.rglob("*.bin"))
    one = run("status", path)
    assert "tsa       confirmed" in one.out
    assert "timestamped" in one.out
    assert LOCAL_NOTICE in one.out
    document = run("status", path, "--json").document
    assert document["state"] == "final"
    assert [each["kind"] for each in document["timeline"]][3] == "tsa.confirmed"
    assert all(each["at"][10] == "T" for each in document["timeline"]), "ISO 8601"
    by_id = run("status", document["id"], "--json").document
    assert by_id["id"] == document["id"]
    reported = run("explain", document["id"], "--json").document
    assert reported["explain"] == by_id["explain"]


def test_every_report_has_the_note_about_local_timestamps(run: Run, tmp_path: Path) -> None:
    check_reports(run, tmp_path)
    roots = [tmp_path / "log.vkey", tmp_path / "root.pem"]
    roots[0].write_text(run("log", "key").out)
    run("tsa", "root", "-o", roots[1])
    judged = ("verify", tmp_path / BUNDLE, *(word for root in roots for word in ("--trust", root)))
    assert LOCAL_NOTICE in run(*judged).out
    assert LOCAL_NOTICE in run(*judged, "--json").out


def test_tokens_of_a_local_authority_over_http_are_marked_local(
    run: Run, spawn: Callable[..., Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens of `foja tsa serve` are marked as local on every machine that requests them."""
    serving = spawn("tsa", "serve", "--port", "0", "--home", tmp_path / "elsewhere", "--json")
    trusted = tmp_path / "trusted.pem"
    run("tsa", "root", "-o", trusted, "--home", tmp_path / "elsewhere")
    monkeypatch.setenv("FOJA_TSA_URLS", json.loads(serving.line())["tsa"])
    monkeypatch.setenv("FOJA_TSA_ROOTS", str(trusted))
    check_reports(run, tmp_path)
    trusted.write_bytes(trusted.read_bytes() + root("Another Authority").pem)  # which may sign the next token
    assert run("tsa", "--json").document["note"] is None
    paper = tmp_path / PAPER
    for arguments in (("protect", paper), ("status",), ("status", paper), ("explain", paper)):
        assert run(*arguments, "--json").document["note"] == LOCAL_NOTICE, arguments
        assert LOCAL_NOTICE in run(*arguments).out, arguments


def check_reports(run: Run, folder: Path) -> None:
    paper = folder / PAPER
    paper.write_bytes(b"paper")
    waiting = run("protect", paper, "--json").document
    assert waiting["note"] == LOCAL_NOTICE
    for reported in (run("status", paper), run("explain", paper), run("protect", paper, "--wait")):
        assert LOCAL_NOTICE in reported.out
    reports = [
        ("protect", paper),
        ("status",),
        ("status", paper),
        ("explain", paper),
        ("bundle", waiting["id"], "-o", folder / BUNDLE, "--certificate", folder / "paper.pdf", "--force"),
        ("tsa",),
    ]
    for arguments in reports:
        assert run(*arguments, "--json").document["note"] == LOCAL_NOTICE, arguments
        assert LOCAL_NOTICE in run(*arguments).out, arguments
    [asked] = run("tsa", "ask", "--json").document.values()
    assert LOCAL_NOTICE in asked["detail"]
    assert LOCAL_NOTICE in run("tsa", "ask").out


def test_a_wrong_list_is_rebuilt(run: Run, folder: Path, admin: Admin) -> None:
    run("protect", folder, "--wait")
    wrong = admin.execute(
        "update foja.document_summary set state = 'none' where entity_id::text < '8' returning entity_id"
    ).fetchall()
    assert run("audit").code == 1
    assert run("rebuild", "--json").document == {
        "documents": FILES,
        "mended": len(wrong),
        "guards": 0,
        "galleries": 0,
        "mended_galleries": 0,
        "deliveries": 0,
    }
    assert run("audit").code == 0
    assert run("status", "--rebuild").lines == [f"{FILES} documents; 0 list entries were wrong or missing"]


def test_errors_name_the_next_command(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a")
    check_refused(run("protect", path, "--evidence", "tsa,bitcoin"), 1, "cannot produce bitcoin")
    assert "foja status" in run("explain", "nonsense").err
    run("protect", path)
    check_refused(run("retry", path, "tsa"), 1, "foja explain")
    path.write_text("b")
    check_refused(run("status", path), 1, "foja protect")


def test_a_name_that_is_not_utf8_fails_alone(run: Run, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "good.txt").write_bytes(b"good")
    try:
        Path(os.fsdecode(os.fsencode(mixed) + b"/\xe9t\xe9.txt")).write_bytes(b"bad")
    except OSError:
        pytest.skip("this file system allows only UTF-8 names")
    ran = run("protect", mixed)
    assert ran.code == 1
    assert "1 added, 0 known, 0 could not be read, 1 refused" in ran.out
    assert "not UTF-8" in ran.err


def test_waiting_ends_if_a_job_type_is_paused(run: Run, tmp_path: Path) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_bytes(b"paper")
    assert run("jobs", "pause", "run_tsa").code == 0
    ran = run("protect", paper, "--wait")
    assert ran.code == 1
    assert "paused: run_tsa" in ran.out


@all_cases("limit", ["0", "-1", "many"])
def test_the_limit_of_a_list_is_a_positive_integer(run: Run, limit: str) -> None:
    assert run("status", f"--limit={limit}").code == 2


async def test_waiting_raises_if_the_work_fails() -> None:
    async def fail() -> None:
        raise WrongSource("the role may not do it")

    with pytest.raises(WrongSource):
        await asyncio.wait_for(wait_unless_failed(asyncio.create_task(fail()), asyncio.sleep(60)), 5)
    working = asyncio.create_task(asyncio.sleep(60))
    await asyncio.wait_for(wait_unless_failed(working, asyncio.sleep(0)), 5)
    assert not working.done()
    working.cancel()
