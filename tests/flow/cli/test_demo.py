"""Every claim of the demo is true, and a false claim makes it fail."""

from __future__ import annotations

import json
import subprocess

import pytest

from foja.interfaces.cli import main
from foja.interfaces.cli.demo import evidence
from tests.flow.command import FOJA


def test_every_claim_is_true() -> None:
    ran = subprocess.run([*FOJA, "demo"], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout.count("✓") >= 15
    assert "✗" not in ran.stdout
    assert "fsck finds it: event 3 of stream" in ran.stdout
    assert "timestamped" in ran.stdout
    assert "local authority: proves order to you, not time to others" in ran.stdout


def test_the_demo_fails_if_tampering_is_not_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def forge_nothing(*_: object) -> None:
        """Change nothing."""

    monkeypatch.setattr(evidence, "_forge", forge_nothing)
    assert main(["demo", "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[-1]["failed"] == ["fsck finds it: nothing"]
    assert [each["claim"] for each in lines if each.get("true") is False] == ["fsck finds it: nothing"]
