"""Arguments, files and streams that a command is given by mistake or by an attacker."""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from foja.interfaces.cli.parser import build_parser
from foja.interfaces.cli.parser.values import any_text
from tests.cases import all_cases
from tests.flow.cli.test_cli_values import arguments
from tests.flow.command import FOJA, Process, Run, check_refused, well
from tests.flow.images.small_disk import small_disk
from tests.flow.terminal import Terminal

ID = UUID(int=0xA)
KEY = "log.example+00000000+AA=="
MAY_BE_EMPTY = {"foja psql arguments", "foja images add --alt", "foja images describe alt"}
EMPTY: list[list[object]] = [
    ["protect", ""],
    ["psql", "--role", ""],
    ["psql", "--role="],
    ["fsck", "--key", ""],
    ["fsck", "--checkpoint", ""],
    ["keys", "export", ""],
    ["verify", ""],
    ["verify", "a.txt", "--trust", ""],
    ["access", "create", "--tenant", ""],
    ["--home", "", "audit"],
    ["bundle", ID, "-o", ""],
]
RAW = "x\n\x1b[31m\u202e"


@all_cases("words", EMPTY, ids=lambda words: " ".join(map(repr, map(str, words))))
def test_an_empty_argument_is_wrong_usage(run: Run, words: list[object]) -> None:
    """`foja protect ""` recorded the files of the folder; an empty option was ignored."""
    wrong = run(*words)
    assert (wrong.code, wrong.out) == (2, "")
    assert "an empty text is not a value" in wrong.err


def test_few_arguments_may_be_empty() -> None:
    """The text of an image, which an empty one removes, and what is passed on to psql."""
    every = {name for name, action in arguments(build_parser()) if action.type is any_text}
    assert every == MAY_BE_EMPTY


@all_cases(
    "words",
    [
        ["doctor", RAW],
        ["audit", RAW],
        ["tsa", "ask", RAW],
        ["bench", RAW],
        ["log", "restart", "--name", RAW],
        [RAW],
    ],
    ids=lambda words: " ".join(words[:-1]) or "foja",
)
def test_wrong_usage_does_not_control_the_terminal(run: Run, words: list[object]) -> None:
    wrong = run(*words)
    assert (wrong.code, wrong.out) == (2, "")
    assert not [each for each in ("\x1b", "\u202e", "x\n") if each in wrong.err]
    assert "\\x1b[31m\\u202e" in wrong.err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a pipe, a large file with nothing in it, and a small one."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("ff")
    Path("a.txt").write_text("a\n")
    with Path("sparse").open("wb") as file:
        file.truncate(1 << 30)
    return tmp_path


@pytest.mark.usefixtures("folder")
@all_cases(
    "words",
    [
        ["fsck", "--checkpoint", "ff"],
        ["fsck", "--key", "ff"],
        ["sign", ID, "ff"],
        ["sign", ID, "a.txt", "--key", "ff"],
        ["verify", "ff"],
        ["verify", "/dev/zero"],
        ["verify", "a.txt", "--proof", "ff"],
        ["verify", "a.txt", "--trust", "ff"],
        ["verify", "a.txt", "--policy", "ff"],
        ["verify", "a.txt", "--headers", "ff"],
        ["verify", "a.txt", "--headers", "/dev/zero"],
        ["log", "verify", "ff", "--key", KEY],
        ["log", "verify", "a.txt", "--key", "ff"],
        ["log", "receipt", "--checkpoint", "ff", "-o", "new.cose"],
        ["cosigner", "serve", "--log", "ff"],
        ["monitor", ".", "--trust", "ff"],
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_a_pipe_or_a_device_is_refused_and_not_read(run: Run, words: list[object]) -> None:
    """`foja sign DOC PIPE` waited for ever, also after SIGTERM; /dev/zero has no end."""
    refused = run(*words)
    assert (refused.code in (1, 2), refused.out) == (True, "")
    assert "special file, which may have no end" in refused.err
    assert len(refused.err.splitlines()) == 1


@pytest.mark.usefixtures("folder")
@all_cases(
    "words",
    [
        ["log", "verify", "a.txt", "--key", "sparse"],
        ["log", "verify", "sparse", "--key", "a.txt"],
        ["fsck", "--checkpoint", "sparse"],
        ["sign", ID, "sparse"],
        ["verify", "a.txt", "--trust", "sparse"],
        ["verify", "a.txt", "--policy", "sparse"],
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_a_file_that_is_too_large_is_refused_before_it_is_read(run: Run, words: list[object]) -> None:
    """`foja log verify sparse --key a.txt` read 1 GiB before it said that the key is wrong."""
    check_refused(run(*words), 2, "sparse: it has 1,073,741,824 bytes; at most")


@pytest.mark.usefixtures("folder")
def test_a_long_file_is_read_with_signs_of_life() -> None:
    """`foja verify` read a large file in silence."""
    with Path("sparse").open("r+b") as file:
        file.truncate(1 << 36)
    terminal = Terminal("verify", "sparse")
    try:
        terminal.wait_for("of 68,719,476,736 bytes")
        assert terminal.text.startswith("reading sparse: ")
    finally:
        terminal.close()


STREAMS = [
    ("--version", ">&-", 2, "standard output is closed"),
    ("{verb}", ">&-", 2, "standard output is closed"),
    ("{verb}", ">&- 2>&-", 2, ""),
    ("{verb}", "2>&-", 0, ""),
    ("{verb}", ">/dev/full", 2, "No space left on device"),
    ("--help", ">/dev/full", 2, "No space left on device"),
    ("{verb}", "| true", 141, ""),
    ("--help", "| true", 141, ""),
    ("nonsense", "2>&-", 2, ""),
]


@pytest.mark.parametrize("buffered", [True, False])
def test_a_stream_that_cannot_be_written_is_one_line(run: Run, *, buffered: bool) -> None:
    """`foja jobs list >&-` ended with a traceback, and `--help >/dev/full` said nothing."""
    well(run("migrate"))
    for verb in ("jobs list", "status"):
        for words, stream, code, message in STREAMS:
            command = f"{shlex.join(FOJA)} {words.format(verb=verb)} {stream}"
            ended = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                env={**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert (ended.returncode, ended.stderr.count("\n")) == (code, bool(message)), (
                command,
                ended.stderr,
            )
            assert message in ended.stderr


def test_a_full_store_ends_the_command(
    run: Run, spawn: Callable[..., Process], home: Path, tmp_path: Path
) -> None:
    """The error was printed, and the process had not ended ten seconds later."""
    (tmp_path / "small.txt").write_text("small")
    (home / "store").mkdir(parents=True)
    with small_disk(home / "store", "1m") as store:
        store.chmod(0o700)
        well(run("protect", tmp_path / "small.txt"))
        (tmp_path / "large.bin").write_bytes(secrets.token_bytes(2_000_000))
        process = spawn("protect", tmp_path / "large.bin")
        assert "No space left on device. Free space there" in process.error_line()
        assert process.wait(10) == 2


def test_a_conversation_of_another_tenant_is_unknown_to_every_command(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`foja chat verify` without FOJA_TENANT verified a conversation of another tenant."""
    monkeypatch.setenv("FOJA_TENANT", "acme")
    well(run("chat", "say", ID, "hello"))
    well(run("chat", "verify", ID))
    monkeypatch.delenv("FOJA_TENANT")
    for words in (["events", ID], ["chat", "show", ID], ["chat", "verify", ID]):
        check_refused(run(*words), 1, "has no events; check the id and FOJA_TENANT")


def test_the_name_of_a_tenant_has_no_control_characters(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`foja access create --tenant` made a key for a tenant whose name colours the terminal."""
    for name in ("a\x1b[31m", "a\nb", "a\u202eb", "a\x9bb", "x" * 201):
        check_refused(run("access", "create", "--tenant", name), 1, "is not a name of a tenant")
        monkeypatch.setenv("FOJA_TENANT", name)
        check_refused(run("status"), 2, "is not a name of a tenant")
        monkeypatch.delenv("FOJA_TENANT")
    assert well(run("access", "list", "--json")).document == []
