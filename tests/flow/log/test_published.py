"""A command publishes what it wrote; nothing waits for a worker that perhaps never runs."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.flow.command import Run, well


def findings(run: Run) -> set[str]:
    """Return the kinds of what audit finds; jobs may wait for a worker, events may not."""
    return {finding["check"] for finding in run("audit", "--json").document["findings"]}


def check_published(run: Run) -> int:
    """Check that nothing waits, and that audit sees no lag. Return the size of the log."""
    [log] = run("log", "--json").document
    assert (log["waiting"], log["published"]) == (0, log["size"])
    assert "lag" not in findings(run)
    return int(log["size"])


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOJA_MAX_LAG_SECONDS", "0.000001")


@pytest.mark.parametrize("options", [[], ["--wait"]], ids=["later", "wait"])
def test_protect_publishes_its_events(run: Run, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "contract.txt").write_text("a contract")
    well(run("protect", tmp_path / "contract.txt", *options))
    assert check_published(run) >= 2


def test_say_publishes_its_event(run: Run) -> None:
    well(run("chat", "say", uuid4(), "where is my parcel?"))
    assert check_published(run) == 1


def test_protecting_again_mends_what_an_interrupted_command_left(
    run: Run, tmp_path: Path, admin: psycopg.Connection[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "contract.txt").write_text("a contract")
    with monkeypatch.context() as broken:
        broken.setattr("foja.app.App.publish", _nothing)
        well(run("protect", tmp_path / "contract.txt"))
    assert "lag" in findings(run)
    well(run("protect", tmp_path / "contract.txt"))
    check_published(run)


async def _nothing(_app: object) -> None:
    """Publish nothing, as a command that was killed."""


def test_what_cannot_be_published_is_recorded_and_said(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = uuid4()
    well(run("chat", "say", conversation, "one"))
    (home / "store" / "log").rename(home / "away")
    (home / "store" / "log").symlink_to("log")  # a loop: the store cannot read it
    said = well(run("chat", "say", conversation, "two"))
    assert said.out == f"event 1 of {conversation}\n"
    assert "recorded, but not published yet" in said.err
    (home / "store" / "log").unlink()
    (home / "away").rename(home / "store" / "log")
    well(run("chat", "say", conversation, "three"))
    assert check_published(run) == 3
