"""The demo tells the truth, and says so when something is not."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from foja.cli import main
from foja.cli.demo import evidence

FOJA = [sys.executable, "-c", "import sys; from foja.cli import main; sys.exit(main())"]


def test_the_demo_comes_true() -> None:
    ran = subprocess.run([*FOJA, "demo"], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout.count("✓") >= 15
    assert "✗" not in ran.stdout
    assert "fsck names it: event 3 of stream" in ran.stdout
    assert "timestamped" in ran.stdout
    assert "local authority: proves order to you, not time to others" in ran.stdout


def test_the_demo_fails_if_tampering_is_not_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def forge_nothing(*_: object) -> None:
        """Be an intruder who changes his mind."""

    monkeypatch.setattr(evidence, "_forge", forge_nothing)
    assert main(["demo", "--json"]) == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told[-1]["failed"] == ["fsck names it: nothing"]
    assert [each["claim"] for each in told if each.get("true") is False] == ["fsck names it: nothing"]
