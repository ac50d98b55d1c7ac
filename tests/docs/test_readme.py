"""Everything that the documentation tells a reader to run does run."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from foja.engine.embedded.postgres import running
from foja.interfaces.cli import load_command
from tests.docs.pages import (
    ENGLISH,
    PAGES,
    PARSER,
    PLACEHOLDERS,
    READMES,
    ROOT,
    SPANISH,
    blocks,
    commands,
    docs,
    inline,
    prose,
    rows,
    verbs,
)
from tests.flow.command import address_of

GENERATED = {"docs/benchmarks.md"}  # by `make bench`
MAX_CODE_LINES = 12
LINES = [(page.name, words) for page in PAGES for words in commands(page, "foja")]
TARGETS = {words[0] for page in PAGES for words in commands(page, "make")}


def quickstarts(page: Path) -> list[tuple[str, str, str]]:
    """Return language, text and shown output of every block that is followed by its output."""
    found = blocks(page)
    return [
        (code.language, code.text, shown.text) for code, shown in pairwise(found) if shown.language == "text"
    ]


def programs(page: Path) -> list[tuple[str, str]]:
    return [(text, shown) for language, text, shown in quickstarts(page) if language == "python"]


def run(command: list[str], home: Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FOJA_")}
    return subprocess.run(
        command,
        cwd=cwd,
        env={**clean, "FOJA_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def is_shown(output: str, shown: str) -> bool:
    """Return whether an output is the one shown: a line `…` is any lines, and in a line it is any words."""
    lines = (re.escape(f"{line}\n").replace("…", "[^\n]+") for line in shown.splitlines())
    pattern = "".join("(?s:.*)" if line == "[^\n]+\\\n" else line for line in lines)
    return re.fullmatch(pattern, output) is not None


@pytest.mark.parametrize("number", range(len(programs(ENGLISH))))
def test_every_program_runs_as_written_and_prints_what_is_shown(number: int, tmp_path: Path) -> None:
    code, shown = programs(ENGLISH)[number]
    ran = run([sys.executable, "-W", "error", "-c", code], tmp_path, tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert is_shown(ran.stdout, shown)
    assert running(tmp_path) is None, "a server was left behind"


def test_every_command_with_an_output_prints_what_is_shown(tmp_path: Path) -> None:
    shells = [(text, shown) for language, text, shown in quickstarts(ENGLISH) if language == "sh"]
    assert shells
    for text, shown in shells:
        [command] = text.splitlines()
        program, *arguments = shlex.split(command, comments=True)
        ran = run([str(Path(sys.executable).with_name(program)), *arguments], tmp_path)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert is_shown(ran.stdout, shown), ran.stdout


@pytest.mark.parametrize("shown", ["final TOTAL_FAILED\n", "final\n", "…\nfinal\n"])
def test_another_output_is_noticed(shown: str) -> None:
    assert not is_shown("final TOTAL_PASSED\n", shown)


def test_there_are_three_short_quickstarts_without_internals() -> None:
    assert len(quickstarts(ENGLISH)) == 3
    assert len(programs(ENGLISH)) == 2
    for code, _ in programs(ENGLISH):
        assert len([line for line in code.splitlines() if line.strip()]) <= MAX_CODE_LINES
        imports = [
            node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        assert [ast.unparse(node) for node in imports] == ["import asyncio, foja"]


def test_both_languages_show_the_same_programs_and_outputs() -> None:
    def compared(page: Path) -> list[tuple[str, str]]:
        return [(ast.dump(ast.parse(code)), shown) for code, shown in programs(page)]

    assert compared(SPANISH) == compared(ENGLISH)
    shown = [[shown for *_, shown in quickstarts(page)] for page in READMES]
    assert shown[0] == shown[1]


@pytest.mark.parametrize(("page", "words"), LINES, ids=[f"{page}: {' '.join(w)}" for page, w in LINES])
def test_every_command_shown_is_accepted(page: str, words: list[str]) -> None:
    arguments = PARSER.parse_args(words)
    assert callable(load_command(arguments)), page


def test_commands_are_shown() -> None:
    assert {words[0] for _, words in LINES} >= {"up", "events", "log", "audit", "fsck", "migrate"}


def test_a_verb_named_in_a_sentence_exists() -> None:
    known = set(verbs(PARSER))
    named = [words for page in PAGES for words in inline(page) if words.startswith("foja ")]
    assert len(named) > 20
    for words in named:
        before_options = words.partition(" --")[0].split()[1:]
        path = tuple(word for word in before_options if re.fullmatch("[a-z]+", word))
        assert path in known, words


def test_a_wrong_command_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        PARSER.parse_args(["log", "unprove"])
    assert "unprove" in capsys.readouterr().err


# What the answer to a curl line holds, by the end of its address; the first that fits.
ANSWERS = {
    "/documents": '"id"',
    "/protect": '"required_evidence"',
    "/bundle": "",  # it is written to a file
    "/verify": '"verdict":"TOTAL_PASSED"',
    "/documents/ID": '"state"',
    "": '"seq',
}


def test_every_curl_line_is_answered(tmp_path: Path, database_url: str) -> None:
    environment = {**os.environ, "FOJA_DATABASE_URL": database_url, "FOJA_HOME": str(tmp_path / "home")}
    foja = Path(sys.executable).with_name("foja")
    up = subprocess.Popen([foja, "up", "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert up.stdout
        url = address_of(iter(up.stdout.readline, ""))
        (tmp_path / "contract.pdf").write_bytes(b"%PDF-1.7")
        reader = Reader(tmp_path, url)
        for words in commands(docs("http"), "curl"):
            if words[-1].endswith("/bundle"):
                reader.wait_until_final()
            answer = reader.run(words)
            assert next(held for end, held in ANSWERS.items() if words[1].endswith(end)) in answer, words
            if "file=@contract.pdf" in words:
                reader.known["ID"] = json.loads(answer)["id"]
    finally:
        up.terminate()
        up.communicate()


class Reader:
    """Someone who runs the curl lines of a page in a folder, with ids and files of their own."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        digest = hashlib.sha256(b"a digest only").hexdigest()
        address = url.removeprefix("http://")
        self.known = {"localhost:8000": address, "ENTITY": PLACEHOLDERS["ENTITY"], "7f83b1…": digest}

    def run(self, words: list[str]) -> str:
        """Return the answer to a line."""
        if "file=@bundle.asice" in words:
            [bundle] = self._folder.glob("*.asice")
            bundle.rename(self._folder / "bundle.asice")
            trust = json.loads(self.run(["-s", "localhost:8000/v1/documents/ID/trust"]))
            (self._folder / "trust.txt").write_text("\n".join(trust["trust"]))
        follows = "-sN" in words
        request = [self._filled_in(word) for word in words]
        request += ["--fail-with-body", "--max-time", "2" if follows else "20"]
        ran = subprocess.run(
            ["curl", *request], cwd=self._folder, capture_output=True, text=True, check=False
        )
        assert ran.returncode == (28 if follows else 0), (request, ran.stdout, ran.stderr)
        return ran.stdout

    def wait_until_final(self) -> None:
        """Wait until the document has all its evidence."""
        deadline = time.monotonic() + 60
        while json.loads(self.run(["-s", "localhost:8000/v1/documents/ID"]))["state"] != "final":
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def _filled_in(self, word: str) -> str:
        for name, value in self.known.items():
            word = word.replace(name, value) if name != "ID" else re.sub(r"\bID\b", value, word)
        return word


def test_curl_lines_are_shown() -> None:
    assert len(commands(docs("http"), "curl")) == 10


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_make_target_shown_exists(target: str) -> None:
    command = ["make", "--dry-run", "--always-make", target]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_make_targets_are_shown() -> None:
    assert {"demo", "up"} <= TARGETS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_tests_exist(page: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", prose(page)) if "://" not in link]
    places = {(page.parent / link).resolve() for link in links}
    tests = {ROOT / path for path in re.findall(r"\btests/[\w/]+\.py\b", page.read_text())}
    missing = {str(path.relative_to(ROOT)) for path in places | tests if not path.exists()}
    assert missing <= GENERATED


def test_every_page_is_linked_from_another() -> None:
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)#]+)\)", prose(page))]
    linked = {(page.parent / link).resolve() for page, link in links}
    assert {page.name for page in ROOT.glob("docs/*.md") if page not in linked} == set()


def test_every_promise_names_the_test_that_shows_it() -> None:
    promises = [cells for cells in rows(prose(docs("promises"))) if cells[0] != "promise"]
    assert len(promises) >= 35
    for promise, how, tests in promises:
        assert promise
        assert how
        assert re.fullmatch(r"`tests/(\w+/)+test_\w+\.py`(, `tests/(\w+/)+test_\w+\.py`)*", tests), tests
