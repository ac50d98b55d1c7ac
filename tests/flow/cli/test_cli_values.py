"""Exit code 2 for every value that is wrong by itself. No argument takes just anything."""

from __future__ import annotations

from argparse import (
    Action,
    ArgumentParser,
    ArgumentTypeError,
    BooleanOptionalAction,
    _HelpAction,
    _StoreConstAction,
    _SubParsersAction,
    _VersionAction,
)
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from foja.domains.documents.lists import STATES
from foja.errors import BadPayload
from foja.interfaces.cli.parser import build_parser
from foja.interfaces.cli.parser.records import documents
from foja.pure.models.documents.events import REQUIRABLE, Evidence
from tests.cases import all_cases
from tests.flow.command import Run, check_refused

ID = UUID(int=0xA)
DIGEST = "a" * 64
WRONG = "javascript:\nno such value"
FLAGS = (_SubParsersAction, _HelpAction, _VersionAction, _StoreConstAction, BooleanOptionalAction)
# Texts that people choose, and names that only the installation knows: it refuses them with exit code 1.
TEXTS = {"name", "reason", "actor", "alt", "text", "signer", "description", "command", "arguments", "next"}
ASKED = {"approval_id", "kind", "job_type", "only", "tenant", "id", "key_id", "role", "schema", "domain"}
# Read by the verb itself, which ends with 2: addresses, modules, and what may be an id or a file.
READ = {
    "web_host",
    "host",
    "domains",
    "database_url",
    "source",
    "document",
    "documents",
    "trust",
    "key",
    "logs",
    "digest",
    "restarts",
    "words",
}
# Files that are written, and those whose absence is reported by their name, also with exit code 2.
PATHS = {"home", "output", "html", "event", "proof", "certificate", "file", "files", "signature"} | {
    "also",
    "headers",
    "policy",
    "checkpoint",
    "monitor",
    "root",
    "state",
    "write",
}


def arguments(parser: ArgumentParser, path: str = "foja") -> Iterator[tuple[str, Action]]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for name, inner in action.choices.items():
                yield from arguments(inner, f"{path} {name}")
        elif not isinstance(action, FLAGS):
            yield f"{path} {action.option_strings[0] if action.option_strings else action.dest}", action


def accepts_anything(action: Action) -> bool:
    if action.choices is not None:
        return False
    if not callable(action.type):
        return True
    try:
        action.type(WRONG)
    except (ArgumentTypeError, BadPayload, ValueError, TypeError):
        return False
    return True


def test_the_choices_are_those_of_the_models() -> None:
    assert set(documents.STATES) == set(STATES)
    assert set(documents.REQUIRABLE) == set(REQUIRABLE)
    assert set(documents.EVIDENCE) == set(Evidence)


def test_every_argument_refuses_wrong_values_or_takes_a_text() -> None:
    free = TEXTS | ASKED | READ | PATHS
    unchecked = {
        f"{name} ({action.dest})"
        for name, action in arguments(build_parser())
        if accepts_anything(action) and action.dest not in free
    }
    assert not unchecked


@all_cases(
    "words",
    [
        ["status", "--state", "lost"],
        ["status", "nonsense"],
        ["explain", "nonsense"],
        ["bundle", "nonsense", "-o", "x"],
        ["jobs", "--state", "asleep"],
        ["jobs", "list", "--state", "asleep"],
        ["jobs", "--limit", 2**31],
        ["jobs", "show", 2**63],
        ["alerts", "history", "--limit", 2**31],
        ["anchors", "list", "--status", "lost"],
        ["anchors", "cost", "--days", 2**31],
        ["protect", "x", "--evidence", "tea"],
        ["retry", "--all", "--evidence", "tsa,tea"],
        ["events", ID, "--after", "nonsense"],
        ["events", "log", "--after", "nonsense"],
        ["images", "move", ID, "first", 0],
        ["images", "add", "new", "--url", "javascript:alert(1)"],
        ["mcp", "--scope", "everything"],
        ["orphans", "purge", "--object", "abc"],
        ["orphans", "restore", DIGEST.upper(), "--reason", "r"],
        ["webhooks", "create", "example.org"],
        ["webhooks", "create", "https://example.org/", "--kind", "No Such"],
        ["webhooks", "rotate", ID, "--overlap", "nan"],
        ["webhooks", "rotate", ID, "--overlap", "-1"],
        ["access", "create", "--expires", "2001-01-01"],
        ["cosigner", "key", "--name", "a b"],
        ["verify", "--digest", "nonsense"],
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_a_wrong_value_is_wrong_usage(run: Run, words: list[object]) -> None:
    wrong = run(*words)
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err


def test_a_file_without_what_the_option_needs_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    junk, absent = tmp_path / "junk", tmp_path / "absent"
    junk.write_text("junk\n")
    check_refused(run("fsck", "--checkpoint", junk), 2, "is not a checkpoint")
    for verb in (["fsck"], ["chat", "verify", ID], ["log", "verify", junk, "--entry", "00"]):
        for key in (junk, absent, "nonsense"):
            check_refused(run(*verb, "--key", key), 2, "--key")
    check_refused(run("log", "verify", junk, "--key", "x", "--event", absent), 2, "--key")
    check_refused(run("mcp", "--root", absent), 2, "is not a folder")


@all_cases(
    ("words", "message"),
    [
        (["orphans", "purge", "--object", DIGEST], "needs a reason"),
        (
            ["orphans", "purge", "--object", DIGEST, "--reason", "r", "--dry-run"],
            "leave it out with --object",
        ),
        (["webhooks", "replay", ID, "1", "--first", "2"], "leave it out with --first"),
        (["images", "add", "new"], "give files"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(run: Run, words: list[object], message: str) -> None:
    check_refused(run(*words), 2, message)


def test_a_log_that_is_not_a_key_is_named_with_what_to_do(run: Run, tmp_path: Path) -> None:
    junk = tmp_path / "junk"
    junk.write_text("junk\n")
    absent = run("cosigner", "serve", "--log", tmp_path / "other.vkey")
    check_refused(absent, 2, f"there is no file {tmp_path / 'other.vkey'}")
    assert "--log" in absent.err
    assert "foja log key > FILE" in absent.err
    check_refused(
        run("cosigner", "serve", "--log", junk),
        2,
        f"--log: the file {junk} does not have a public key of a log",
    )
