"""Fixtures for tests of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from foja.interfaces.cli import main
from tests.flow.command import CommandResult, Process, Run, well


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database_url: str) -> Path:
    """A home without an embedded server: the database is the test's own."""
    monkeypatch.setenv("FOJA_DATABASE_URL", database_url)
    monkeypatch.setenv("FOJA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> CommandResult:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        return CommandResult(code, *capsys.readouterr())

    return call


@pytest.fixture
def filled(run: Run, tmp_path: Path) -> UUID:
    """A conversation and a final document."""
    conversation = uuid4()
    well(run("chat", "say", conversation, "where is my parcel?"))
    (tmp_path / "contract.txt").write_text("a contract")
    well(run("protect", tmp_path / "contract.txt", "--wait"))
    return conversation


@pytest.fixture
def spawn() -> Iterator[Callable[..., Process]]:
    processes: list[Process] = []

    def start(*arguments: object) -> Process:
        processes.append(Process(*arguments))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
