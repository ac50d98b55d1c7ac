"""schemathesis with all checks against a live server: no 5xx, and nothing that the schema does not allow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flow.command import Process, Run

FOLDER = Path(__file__).parent
BOUNDED = ("--phases", "examples,fuzzing", "--max-examples", "2", "--seed", "29")
LONG = ("--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "60")


def fuzz(run: Run, spawn: Callable[..., Process], monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    """Start a server and run schemathesis against it, with a key: the first that it made would end all."""
    key = run("access", "create", "--scopes", "admin", "--installation", "--json").document["key"]
    monkeypatch.setenv("FOJA_RATE_LIMIT", "0")
    monkeypatch.setenv(
        "FOJA_HEARTBEAT_SECONDS", "0.1"
    )  # an event stream is read until a heartbeat, not to its end
    server = spawn("web", "--port", 0)
    address = server.line().partition(";")[0].removeprefix("serving ")
    command = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    assert command, "schemathesis is not installed: pip install -e .[test]"
    checked = [f"{address}/openapi.json", "--checks", "all", "--no-color"]
    limits = ["--request-timeout", "300", "--max-response-time", "300", "--suppress-health-check", "all"]
    # `test_openapi` asks as a stranger.
    limits += ["--generation-database", "none", "--exclude-checks", "ignored_auth"]
    ran = subprocess.run(
        [command, "--config-file", str(FOLDER / "schemathesis.toml"), "run", *checked, *limits, *options],
        env={
            **os.environ,
            "FOJA_TEST_KEY": key,
            "SCHEMATHESIS_HOOKS": "tests.flow.http.schemathesis_hooks",
            "PYTHONPATH": str(Path.cwd()),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-2_000:]
    # 403 answers what a body asks for, such as a key of another tenant; 401 would be the check of the caller.
    assert "401 Unauthorized" not in ran.stdout, "nothing behind the check of the caller was tried"


def test_a_bounded_number_of_cases(
    run: Run, spawn: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    fuzz(run, spawn, monkeypatch, *BOUNDED)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_thousands_of_cases(run: Run, spawn: Callable[..., Process], monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz(run, spawn, monkeypatch, *LONG)
