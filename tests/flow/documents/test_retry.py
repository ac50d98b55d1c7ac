"""`foja retry`: after an outage, new attempts for one, several or all documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.database.documents.papers import Paper
from tests.database.schema.rows import Admin
from tests.flow.command import Run, check_refused
from tests.tsa_server import TsaServer, running_tsa

COUNT = 25


@pytest.fixture(scope="module")
def tsa() -> Iterator[TsaServer]:
    with running_tsa() as server:
        yield server


@pytest.fixture
def outage(run: Run, tsa: TsaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Documents whose attempts all failed in an outage that is over; their ids by name."""
    (tmp_path / "root.pem").write_bytes(tsa.root)
    monkeypatch.setenv("FOJA_TSA_URLS", tsa.url)
    monkeypatch.setenv("FOJA_TSA_ROOTS", str(tmp_path / "root.pem"))
    monkeypatch.setenv("FOJA_PROTECT_ATTEMPTS", "2")
    monkeypatch.setenv("FOJA_PROTECT_PAUSE_SECONDS", "0")
    monkeypatch.setattr("foja.pure.models.documents.rules.SOON", timedelta(hours=1))  # no executor runs here
    folder = tmp_path / "papers"
    folder.mkdir()
    for n in range(COUNT):
        (folder / f"{n}.txt").write_text(str(n))
    tsa.behave("refuse")
    ran = run("protect", folder, "--wait", "--json")
    assert ran.code == 1
    tsa.behave("honest")
    return {each["name"]: each["id"] for each in map(json.loads, ran.lines)}


def granted(admin: Admin) -> dict[str, int]:
    rows = admin.execute(
        "select entity_id::text, count(*) from foja.event"
        " where kind = 'protection.retry.requested' group by entity_id"
    ).fetchall()
    return dict(rows)


def test_all_failed_documents_continue_after_one_command(
    run: Run, outage: dict[str, str], admin: Admin, tmp_path: Path
) -> None:
    waiting = Paper(admin)  # no evidence of it failed
    waiting.request()
    ran = run("retry", "--all", "--reason", "the authority is back")
    assert ran.code == 0, ran.err
    assert f"{COUNT} documents have new attempts" in ran.out
    assert granted(admin) == dict.fromkeys(outage.values(), 1)
    again = run("retry", "--all")
    assert (again.code, again.lines) == (0, ["no evidence has failed"])
    assert granted(admin) == dict.fromkeys(outage.values(), 1)
    ran = run("protect", tmp_path / "papers", "--wait", "--json")
    assert ran.code == 0, ran.err
    assert {json.loads(line)["state"] for line in ran.lines} == {"final"}
    assert run("retry", "--all").lines == ["no evidence has failed"]


def test_all_documents_of_one_evidence(run: Run, outage: dict[str, str], admin: Admin) -> None:
    assert run("retry", "--all", "--evidence", "artifact,polygon", "--json").out == ""
    assert granted(admin) == {}
    ran = run("retry", "--all", "--evidence", "tsa", "--json")
    assert ran.code == 0
    events = [json.loads(line) for line in ran.lines]
    assert {each["entity_id"] for each in events} == set(outage.values())
    assert {each["payload"]["evidence"] for each in events} == {"tsa"}


def test_several_documents_by_id_and_by_file(
    run: Run, outage: dict[str, str], admin: Admin, tmp_path: Path
) -> None:
    ids = list(outage.values())
    ran = run("retry", ids[0], ids[1], tmp_path / "papers" / "7.txt", "tsa", "--reason", "back")
    assert ran.code == 0, ran.err
    assert "3 documents have new attempts" in ran.out
    assert granted(admin) == dict.fromkeys([ids[0], ids[1], outage["papers/7.txt"]], 1)
    ran = run("retry", ids[2], "--json")
    assert ran.document["payload"]["evidence"] == "tsa", "the evidence that failed"
    ran = run("retry", ids[0], ids[3], tmp_path / "gone.txt")
    assert ran.code == 1, "two of three are refused, the third is granted"
    assert ids[3] in granted(admin)
    assert [line for line in ran.err.splitlines() if ids[0] in line]
    assert [line for line in ran.err.splitlines() if "gone.txt" in line]


def test_closed_and_already_granted_documents_are_skipped(
    run: Run, outage: dict[str, str], admin: Admin
) -> None:
    archived, granted_before, *others = (Paper(admin, each) for each in outage.values())  # type: ignore[arg-type]
    archived.append("document.archived", {"reason": "old"})
    assert run("retry", granted_before.id, "tsa").code == 0
    ran = run("retry", "--all")
    assert ran.code == 0
    assert f"{len(others)} documents" in ran.out


def test_wrong_arguments_are_refused(run: Run, outage: dict[str, str]) -> None:
    document = next(iter(outage.values()))
    assert "expected tsa, polygon" in run("retry", document, "--evidence", "tea").err
    check_refused(run("retry", document, "artifact"), 1, "foja explain")
    assert run("retry").code == 2
    assert run("retry", document, "--all").code == 2
