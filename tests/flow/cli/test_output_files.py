"""No command replaces a file of the user without --force."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foja.errors import SetupFailed
from foja.interfaces.cli.output_files import new_file, write_file
from foja.interfaces.cli.parser import build_parser
from tests.flow.command import CommandResult, Run, check_refused

MINE = "the only copy"
FORCED, CAREFUL = Namespace(force=True), Namespace(force=False)
OUTPUTS = {"--output", "--certificate", "--html"}


@pytest.fixture
def document(run: Run, tmp_path: Path) -> str:
    contract = tmp_path / "contract.txt"
    contract.write_text("I owe you a cake.\n")
    assert run("protect", contract, "--wait").code == 0
    return str(run("status", contract, "--json").document["id"])


def writers(document: str, folder: Path) -> dict[str, tuple[list[object], list[Path]]]:
    """Return every command that writes files, with the files it writes."""
    paths = {
        name: folder / name for name in ("a.asice", "a.pdf", "a.html", "a.jsonl", "a.checkpoint", "a.pem")
    }
    proof, event = folder / "b.tlog-proof", folder / "b.event.json"
    digest = ["--digest", f"sha256:{'0' * 64}"]
    return {
        "bundle": (["bundle", document, "-o", paths["a.asice"]], [paths["a.asice"]]),
        "certificate": (
            ["bundle", document, "-o", folder / "c.asice", "--certificate", paths["a.pdf"]],
            [paths["a.pdf"]],
        ),
        "verify": (["verify", *digest, "--html", paths["a.html"]], [paths["a.html"]]),
        "export": (
            ["log", "export", document, "-o", paths["a.jsonl"]],
            [paths["a.jsonl"], folder / "a.tlog-proof"],
        ),
        "checkpoint": (["log", "checkpoint", "-o", paths["a.checkpoint"]], [paths["a.checkpoint"]]),
        "prove": (["log", "prove", document, 0, "-o", proof], [proof, event]),
        "receipt": (
            ["log", "receipt", document, 0, "-o", folder / "r.cose"],
            [folder / "r.cose", folder / "r.event.json"],
        ),
        "event": (["log", "prove", document, 0, "--event", event], [event]),
        "root": (["tsa", "root", "-o", paths["a.pem"]], [paths["a.pem"]]),
        "keys": (["keys", "export", "-o", folder / "k.pem"], [folder / "k.pem"]),
        "rules": (["alerts", "rules", "-o", folder / "a.yml"], [folder / "a.yml"]),
        "dashboard": (["alerts", "dashboard", "-o", folder / "a.json"], [folder / "a.json"]),
        "backup": (["backup", "-o", folder / "a.tar"], [folder / "a.tar"]),
    }


def is_refused(result: CommandResult, path: Path) -> None:
    assert result.code == 2, result.err
    assert f"{path} exists and was not replaced" in result.err
    assert "--force" in result.err


def test_every_command_that_writes_refuses_to_replace(run: Run, document: str, tmp_path: Path) -> None:
    """An existing file stays as it is, and no other output is written beside it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, (command, targets) in writers(document, folder).items():
        for target in targets:
            before = set(folder.iterdir())
            target.write_text(MINE)
            is_refused(run(*command), target)
            assert (name, target.read_text(), set(folder.iterdir())) == (name, MINE, before | {target})
            run(*command, "--force")
            assert target.read_text(errors="replace") != MINE, name
            for each in set(folder.iterdir()) - before:
                each.unlink()


def test_two_outputs_with_one_name_are_refused(run: Run, document: str, tmp_path: Path) -> None:
    """One output of a command does not replace the other."""
    target = tmp_path / "both"
    told = run("bundle", document, "-o", target, "--certificate", target, "--force")
    check_refused(told, 2, "the same name")
    assert not target.exists()


def test_every_verb_with_an_output_has_force() -> None:
    """A verb that takes the name of a file to write takes --force, too."""
    found = [verb for verb in verbs(build_parser()) if OUTPUTS & set(verb._option_string_actions)]
    found = [verb for verb in found if verb.prog != "foja sign"]  # its --certificate is read, not written
    assert len(found) == 15
    assert [verb.prog for verb in found if "--force" not in verb._option_string_actions] == []


def verbs(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    yield parser
    for action in parser._actions:
        choices: Any = action.choices
        if isinstance(choices, dict):
            for each in choices.values():
                yield from verbs(each)


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """The check is repeated when the file is complete."""
    target = tmp_path / "out"
    with pytest.raises(SetupFailed, match="exists"), new_file(CAREFUL, target):
        target.write_text(MINE)
    assert target.read_text() == MINE
    assert list(tmp_path.iterdir()) == [target]


def test_links_and_devices(tmp_path: Path) -> None:
    """A link is not replaced, a forced write goes where it points, and a device stays a device."""
    target, link, nowhere = tmp_path / "out", tmp_path / "link", tmp_path / "nowhere"
    target.write_text(MINE)
    link.symlink_to(target)
    nowhere.symlink_to(tmp_path / "missing")
    for path in (link, nowhere):
        with pytest.raises(SetupFailed, match="exists"):
            write_file(CAREFUL, path, "ours")
    write_file(FORCED, link, "ours")
    assert (link.is_symlink(), target.read_text()) == (True, "ours")
    write_file(CAREFUL, Path("/dev/null"), "ours")
    write_file(FORCED, Path("/dev/null"), "ours")
    assert Path("/dev/null").is_char_device()


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    """Neither a part of a file nor an empty one is left, and the old file stays."""
    target = tmp_path / "out"
    with pytest.raises(ValueError, match="broken"), new_file(CAREFUL, target):
        raise ValueError("broken")
    assert not list(tmp_path.iterdir())
    target.write_text(MINE)
    with pytest.raises(ValueError, match="broken"), new_file(FORCED, target):
        raise ValueError("broken")
    assert target.read_text() == MINE
