"""Fixtures for tests of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from foja.cli import main
from tests.flow.command import CommandResult, Process, Run


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
def spawn() -> Iterator[Callable[..., Process]]:
    processes: list[Process] = []

    def start(*arguments: object) -> Process:
        processes.append(Process(*arguments))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
