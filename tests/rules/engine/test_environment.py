"""Settings from the environment: plain values, in any case, and arguments before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from foja.engine.settings import load
from foja.errors import SetupFailed


def test_a_variable_is_read_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("foja_writers", "7")
    monkeypatch.setenv("Foja_Micro_Batch", "no")
    monkeypatch.setenv("FOJA_METRICS_PORT", "9464")
    monkeypatch.setenv("FOJA_HOME", "/srv/foja")
    read = load()
    assert (read.writers, read.micro_batch, read.metrics_port) == (7, False, 9464)
    assert read.home == Path("/srv/foja")


def test_an_argument_replaces_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOJA_WRITERS", "7")
    assert load(writers=3).writers == 3


def test_an_empty_variable_is_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOJA_WRITERS", "")
    with pytest.raises(SetupFailed, match="FOJA_WRITERS"):
        load()


def test_no_file_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FOJA_WRITERS", raising=False)
    (tmp_path / ".env").write_text("FOJA_WRITERS=7\n")
    monkeypatch.chdir(tmp_path)
    assert load().writers == 2
