"""What the paper tells a reader to run does run."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from foja.cli import load_command
from foja.cli.parser import build_parser
from foja.embedded.postgres import running
from tests.docs.paper import (
    ENGLISH,
    PAGES,
    READMES,
    ROOT,
    SPANISH,
    STAND_INS,
    blocks,
    commands,
    inline,
    prose,
    verbs,
)

WRITTEN_LATER = {"docs/benchmarks.md"}  # by `make bench`
LINES = [(page.name, words) for page in PAGES for words in commands(page, "foja")]
TARGETS = {words[0] for page in PAGES for words in commands(page, "make")}


def snippet(page: Path) -> str:
    [found] = [block.text for block in blocks(page) if block.language == "python"]
    return found


def run(code: str, home: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FOJA_")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**clean, "FOJA_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_snippet_runs_as_written_with_nothing_installed(tmp_path: Path) -> None:
    ran = run(snippet(ENGLISH), tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    numbers_and_kinds = [line.split()[:2] for line in ran.stdout.splitlines()]
    assert numbers_and_kinds == [
        ["0", "user_message_sent"],
        ["1", "slot.voided"],
        ["2", "tool_use_completed"],
        ["event", "0"],
    ]
    assert ran.stdout.splitlines()[-1] == "event 0 is leaf 0 of 3"
    assert running(tmp_path) is None, "a server was left behind"


def test_the_snippet_notices_when_it_is_not_true(tmp_path: Path) -> None:
    said = snippet(ENGLISH)
    wrong = said.replace("first.seq == again.seq == 0", "first.seq == again.seq == 1")
    assert wrong != said
    assert "AssertionError" in run(wrong, tmp_path).stderr


def test_both_snippets_are_one_program() -> None:
    assert ast.dump(ast.parse(snippet(SPANISH))) == ast.dump(ast.parse(snippet(ENGLISH)))


@pytest.mark.parametrize(("page", "words"), LINES, ids=[f"{page}: {' '.join(w)}" for page, w in LINES])
def test_every_command_shown_is_understood(page: str, words: list[str]) -> None:
    arguments = build_parser().parse_args(words)
    assert callable(load_command(arguments)), page


def test_commands_are_shown_at_all() -> None:
    assert {words[0] for _, words in LINES} >= {"up", "events", "log", "audit", "fsck", "migrate"}


def test_a_verb_named_in_passing_exists() -> None:
    known = set(verbs(build_parser()))
    named = [words for page in PAGES for words in inline(page) if words.startswith("foja ")]
    assert len(named) > 20
    for words in named:
        before_options = words.partition(" --")[0].split()[1:]
        path = tuple(word for word in before_options if re.fullmatch("[a-z]+", word))
        assert path in known, words


def test_a_wrong_command_would_be_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["log", "unprove"])
    assert "unprove" in capsys.readouterr().err


def test_every_curl_line_is_answered(tmp_path: Path, database_url: str) -> None:
    environment = {**os.environ, "FOJA_DATABASE_URL": database_url, "FOJA_HOME": str(tmp_path)}
    foja = Path(sys.executable).with_name("foja")
    web = subprocess.Popen([foja, "web", "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert web.stdout
        here = web.stdout.readline().split()[1].rstrip(";").removeprefix("http://")
        for words in commands(ENGLISH, "curl"):
            asked = [
                word.replace("localhost:8000", here).replace("ENTITY", STAND_INS["ENTITY"]) for word in words
            ]
            asked += ["--fail", "--max-time", "2" if "-sN" in words else "20"]
            ran = subprocess.run(["curl", *asked], capture_output=True, text=True, check=False)
            assert ran.returncode in ({28} if "-sN" in words else {0}), (asked, ran.stderr)
            assert '"seq' in ran.stdout
    finally:
        web.terminate()
        web.communicate()


def test_curl_lines_are_shown_at_all() -> None:
    assert len(commands(ENGLISH, "curl")) == 4
    assert commands(SPANISH, "curl") == commands(ENGLISH, "curl")


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_make_target_shown_exists(target: str) -> None:
    asked = ["make", "--dry-run", "--always-make", target]
    ran = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_make_targets_are_shown_at_all() -> None:
    assert {"demo", "up", "test", "bench"} <= TARGETS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_tests_lead_somewhere(page: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", prose(page)) if "://" not in link]
    places = {(page.parent / link).resolve() for link in links}
    tests = {ROOT / path for path in re.findall(r"\btests/[\w/]+\.py\b", page.read_text())}
    missing = {str(path.relative_to(ROOT)) for path in places | tests if not path.exists()}
    assert missing <= WRITTEN_LATER


@pytest.mark.parametrize("page", READMES, ids=lambda page: page.name)
def test_every_promise_names_the_test_that_shows_it(page: Path) -> None:
    rows = [line.split("|") for line in prose(page).splitlines() if "`tests/" in line]
    assert len(rows) >= 15
    for _, promise, how, shown, _ in rows:
        assert promise.strip()
        assert how.strip()
        assert re.findall(r"`(tests/[\w/]+/test_\w+\.py)`", shown)
