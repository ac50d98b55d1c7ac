"""Files that change while they are read, and names that would control a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from foja.app import App
from foja.engine.blobs import transfer
from foja.errors import Refused
from foja.interfaces.cli.output import escape
from foja.pure.quotation import QUOTATION
from tests.flow.command import Run

ODD = "in\x1b[31mvoice\n2 added, 0 known\u202e\x9b"
RAW = ("\x1b", "\u202e", "\x9b", "\n2 added")
Copy = Callable[..., tuple[str, int]]


@pytest.mark.parametrize("change", ["grows", "same size", "shrinks"])
async def test_a_file_that_changes_while_it_is_read_is_refused(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """No document is added, and the error says why."""
    path = tmp_path / "contract.txt"
    path.write_bytes(b"first, and then more")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    new = {"grows": b"first, and then much more", "same size": b"FIRST, and then more", "shrinks": b"x"}
    changed(monkeypatch, "foja.engine.blobs.disk.copy", lambda: path.write_bytes(new[change]))
    with pytest.raises(Refused, match="changed while it was read"):
        await app.documents.add(path)
    assert await app.documents.known([app.documents.identity(sha256(new[change]).hexdigest(), None)]) == []


def changed(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[], Any]) -> None:
    """Change the file in the middle of reading it."""

    def copy(source: BinaryIO, target: BinaryIO | None = None) -> tuple[str, int]:
        source.read(1)
        change()
        return transfer.copy(source, target)

    monkeypatch.setattr(name, copy)


def test_the_command_reports_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with --hash-only; the exit code is 1, and the other files are protected."""
    path, other = tmp_path / "contract.txt", tmp_path / "other.txt"
    path.write_text("first")
    other.write_text("other")
    times = iter(range(100))
    changed(
        monkeypatch,
        "foja.interfaces.cli.documents.files.copy",
        lambda: path.write_text(f"changed {next(times)}"),
    )
    told = run("protect", path, "--hash-only")
    assert (told.code, "changed while it was read" in told.err) == (1, True)
    assert "0 added, 0 known, 0 could not be read, 1 refused" in told.out


def test_no_name_controls_the_terminal(run: Run, tmp_path: Path) -> None:
    """Every command that prints a name escapes it; JSON carries it unchanged."""
    path = tmp_path / ODD
    path.write_text("I owe you a cake.\n")
    commands: list[tuple[object, ...]] = [
        ("protect", path, "--wait"),
        ("protect", tmp_path / f"{ODD} is missing"),
        ("status",),
        ("status", path),
        ("explain", path),
        ("retry", path),
        ("status", f"{ODD} is missing"),
    ]
    for command in commands:
        told = run(*command)
        assert not [each for each in RAW if each in told.out + told.err], command
    document = run("status", path, "--json").document
    assert document["name"] == ODD
    for command in (("events", document["id"]), ("bundle", document["id"], "-o", tmp_path / ODD / "x")):
        told = run(*command)
        assert not [each for each in RAW if each in told.out + told.err], command
    bundle = tmp_path / f"{ODD}.asice"
    for command in (("bundle", document["id"], "-o", bundle), ("verify", bundle)):
        told = run(*command)
        assert told.out
        assert not [each for each in RAW if each in told.out + told.err], command


def test_a_name_from_a_folder_is_a_quotation(run: Run, tmp_path: Path) -> None:
    """The table of `foja protect` showed the name as it was, and that of `foja status` as a quotation."""
    (tmp_path / "x” was approved by the Court, 1990 “").write_text("I owe you a cake.\n")
    for command in (("protect", tmp_path), ("status",)):
        told = run(*command)
        assert "1990" in told.out
        assert "1990" not in re.sub(QUOTATION, "", told.out), command


def test_ordinary_names_are_printed_as_they_are() -> None:
    """Letters of all scripts, spaces and emoji stay."""
    for name in ("señal ñandú.pdf", "契約書\u3000最終.pdf", "a\xa0b", "👩\u200d⚖️.txt", "می\u200cخواهم"):
        assert escape(name) == name
    assert escape("a\tb\udce9") == r"a\tb\udce9"
