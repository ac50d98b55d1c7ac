"""A whole filesystem is synced only where that is safe and quick."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from foja.engine.blobs import filesystem

LITTLE = "MemTotal:       1 kB\nDirty:            12 kB\nWriteback:         3 kB\nWritebackTmp:   99 kB\n"


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Forget what is known of this machine, before and afterwards."""
    filesystem._syncfs.cache_clear()
    yield
    filesystem._syncfs.cache_clear()


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the kernel says of its memory."""
    path = tmp_path / "meminfo"
    monkeypatch.setattr(filesystem, "MEMORY", path)
    path.write_text(LITTLE)
    return path


def test_it_is_quick_while_little_waits_to_be_written(memory: Path) -> None:
    assert filesystem.is_quick()
    limit = filesystem.MAX_DIRTY_KB
    memory.write_text(LITTLE.replace("12 kB", f"{limit - 3} kB"))
    assert filesystem.is_quick()
    memory.write_text(LITTLE.replace("12 kB", f"{limit - 2} kB"))
    assert not filesystem.is_quick()


def test_it_is_not_relied_on_where_the_kernel_does_not_say(memory: Path) -> None:
    memory.unlink()
    assert not filesystem.is_quick()


@pytest.mark.parametrize(
    ("release", "relied_on"),
    [("6.1.0-18-amd64", True), ("5.8.0", True), ("5.7.19-custom", False), ("4.19.0", False)],
)
def test_a_kernel_that_loses_errors_is_not_relied_on(
    memory: Path, monkeypatch: pytest.MonkeyPatch, release: str, relied_on: bool
) -> None:
    names = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((*names[:2], release, *names[3:])))
    assert filesystem.is_quick() == relied_on


def test_another_system_is_not_relied_on(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert not filesystem.is_quick()


def test_a_folder_is_synced_and_a_missing_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    filesystem.sync_all(tmp_path)
    with pytest.raises(FileNotFoundError):
        filesystem.sync_all(tmp_path / "missing")


def test_an_error_of_the_system_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "open", lambda *_: 987_654)
    monkeypatch.setattr(os, "close", lambda _: None)
    with pytest.raises(OSError, match="Bad file descriptor"):
        filesystem.sync_all(tmp_path)
