"""Every kind, setting, verb, metric and reason is documented, and documented as it is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import pytest

from foja.engine import metrics
from foja.engine.observe.audit import QUERIES
from foja.engine.settings import FOR_TESTS, Settings, variable
from foja.interfaces.cli import FOUND, INTERRUPTED, PIPE_CLOSED, TERMINATED, WRONG, main
from foja.pure.core.registry import BODY_ERASED, RESERVED, SLOT_VOIDED, Kind
from foja.pure.judge.trust_parser import POLICY_FIELDS
from foja.pure.models.conversations.events import CONVERSATION, TRANSIENT
from foja.pure.models.documents.events import DOCUMENT
from foja.pure.models.images.events import IMAGE
from foja.pure.models.requests.events import REQUEST
from foja.pure.models.system.events import SYSTEM
from foja.pure.models.threads.events import THREAD
from foja.pure.proofs.finding import Reason
from tests.docs.pages import (
    ENGLISH,
    PAGES,
    PARSER,
    ROOT,
    SOURCE,
    SPANISH,
    blocks,
    docs,
    inline,
    prose,
    section,
    verbs,
)

KINDS_PAGE = docs("kinds")
VARIABLE = re.compile(r"\bFOJA_[A-Z_]+\b")
EVERY = {
    (kind.name, kind.v): kind
    for domain in (CONVERSATION, DOCUMENT, IMAGE, REQUEST, SYSTEM, THREAD)
    for kind in (*domain.kinds, SLOT_VOIDED, BODY_ERASED)
}
KINDS = sorted(EVERY.values(), key=lambda kind: kind.name)
TRANSIENTS = sorted(TRANSIENT.kinds, key=lambda kind: kind.name)


def table_row(kind: Kind) -> str:
    sources = ", ".join(sorted(kind.sources))
    v = f"{kind.v}, retired" if kind.retired else str(kind.v)
    cells = (f"`{kind.name}`", v, fields(kind.required), fields(kind.optional), sources)
    return f"| {' | '.join(cells)} | {'yes' if kind.erasable else 'no'} |"


def fields(types: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {each.replace('|', ' or ')}" for name, each in types.items()) or "–"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name}-{kind.v}")
def test_every_kind_is_described_as_it_is(kind: Kind) -> None:
    assert table_row(kind) in KINDS_PAGE.read_text().splitlines()


@pytest.mark.parametrize("kind", TRANSIENTS, ids=lambda kind: kind.name)
def test_every_transient_kind_is_described_as_it_is(kind: Kind) -> None:
    row = f"| `{kind.name}` | {kind.v} | {fields(kind.required)} | {fields(kind.optional)} |"
    assert row in KINDS_PAGE.read_text().splitlines()


def test_no_kind_is_described_that_is_not_there() -> None:
    described = re.findall(r"^\| `([\w.-]+)` \| \d+(?:, retired)? \|", KINDS_PAGE.read_text(), re.MULTILINE)
    assert sorted(described) == sorted(kind.name for kind in [*KINDS, *TRANSIENTS])


def test_reserved_kinds_aliases_and_choices_are_described() -> None:
    own = section(KINDS_PAGE, "## Written by the ledger itself")
    assert set(re.findall(r"^- `([\w.]+)`", own, re.MULTILINE)) == RESERVED
    assert set(CONVERSATION.aliases) <= set(inline(KINDS_PAGE))
    choices = {word for kind in KINDS for words in kind.choices.values() for word in words}
    assert choices <= set(inline(KINDS_PAGE))


def test_every_setting_that_a_page_or_a_message_names_exists() -> None:
    """`foja doctor` advised to correct FOJA_COSIGNER_QUORUM, which there is not."""
    known = {variable(name) for name in Settings.model_fields}
    in_pages = {name for page in PAGES for name in VARIABLE.findall(page.read_text())}
    assert in_pages - known == {"FOJA_TEST_POSTGRES", "FOJA_TEST_STORE"}
    sources = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".sql", ".html", ".js")]
    in_source = {name for path in sources for name in VARIABLE.findall(path.read_text())}
    assert in_source - known == {FOR_TESTS}


def test_every_extra_that_a_page_names_exists() -> None:
    named = {name for page in PAGES for name in re.findall(r"(?:foja|'\.)\[([\w-]+)\]", page.read_text())}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert named == extras.keys() - {"dev", "test"}


def test_every_verb_is_explained() -> None:
    explained = re.findall(r"^\| `foja ([a-z ]+)` \| ", prose(docs("cli")), re.MULTILINE)
    assert sorted(explained) == sorted(" ".join(path) for path in verbs(PARSER))


@pytest.mark.parametrize("path", [*verbs(PARSER)], ids=" ".join)
def test_every_verb_shows_an_example_and_has_a_json_option(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main([*path, "--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0
    assert "--json" in text
    assert f"foja {' '.join(path)}" in text.partition("examples:")[2]


def test_every_finding_of_the_audit_is_explained() -> None:
    found = section(docs("operations"), "## What audit finds")
    explained = set(re.findall(r"^\| `(\w+)` \|", found, re.MULTILINE))
    assert {question.check for question in QUERIES} | {
        "gap",
        "duplicate",
        "correlation",
        "gallery",
        "token",
    } == explained


def test_every_metric_is_explained() -> None:
    found = section(docs("operations"), "## What is measured")
    explained = {name.removesuffix("_total") for name in re.findall(r"^\| `(\w+)` \|", found, re.MULTILINE)}
    assert explained == metrics.METRIC_NAMES


def test_every_reason_of_the_judge_is_explained() -> None:
    explained = {word for name in ("verify", "bundle") for word in inline(docs(name))}
    assert set(Reason) <= explained


CHECKS = {
    f"{group}{number}"
    for group, most in {"C": 5, "L": 3, "S": 3, "T": 9, "A": 3, "B": 5, "E": 6, "R": 7}.items()
    for number in range(1, most + 1)
}


def test_every_check_of_the_judge_has_its_module_and_its_test() -> None:
    found = section(docs("verify"), "## Check by check")
    rows = re.findall(r"^\| ([A-Z]\d) \| .+ \| `([\w/]+\.py)` \| `.+` \|$", found, re.MULTILINE)
    assert {check for check, _ in rows} == CHECKS
    assert all((SOURCE / module).is_file() for _, module in rows)
    tests = re.findall(r"`([\w/]+\.py)::(\w+)`", found)
    assert len(tests) > len(CHECKS)
    for file, name in tests:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), name


def test_every_exit_code_is_explained() -> None:
    found = section(docs("cli"), "## Exit codes")
    explained = set(map(int, re.findall(r"^\| (\d+) \|", found, re.MULTILINE)))
    assert explained == {0, FOUND, WRONG, INTERRUPTED, PIPE_CLOSED, TERMINATED}


def test_every_field_of_a_policy_is_explained() -> None:
    found = section(docs("verify"), "## The policy")
    rows = re.findall(r"^\| (`[a-z][^|]*) \|", found, re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert explained == {"form", *POLICY_FIELDS}


def test_every_dependency_has_its_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    names = {re.split(r"[\[<>=! ]", each)[0] for each in asked}
    table = section(docs("decisions"), "## Dependencies")
    first = re.findall(r"^\| ([\w, -]+?) \|", table, re.MULTILINE)
    explained = {name for cell in first for name in cell.split(", ")}
    assert names - {project["name"]} <= explained


def test_a_decision_has_at_most_five_lines() -> None:
    entries = [each for each in re.split(r"\n\n+", prose(docs("decisions"))) if each.startswith("**")]
    assert 40 < len(entries) <= 70
    assert [
        each for each in entries if len(each.splitlines()) > 5 or max(map(len, each.splitlines())) > 130
    ] == []


def test_both_readmes_have_the_same_shape() -> None:
    assert shape(ENGLISH) == shape(SPANISH)


def test_another_shape_is_noticed(tmp_path: Path) -> None:
    shorter = tmp_path / "README.es.md"
    shorter.write_text(SPANISH.read_text().replace("\n## ", "\n", 1))
    assert shape(shorter) != shape(ENGLISH)


def shape(page: Path) -> dict[str, object]:
    """Return what a translation must share: headings, tables, blocks, commands, links."""
    text = prose(page)
    shells = [block.lines() for block in blocks(page) if block.language == "sh"]
    links = {link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("README")}
    return {
        "headings": [line.split()[0] for line in text.splitlines() if line.startswith("#")],
        "table rows": sum(line.startswith("|") for line in text.splitlines()),
        "items": sum(line.startswith("- ") for line in text.splitlines()),
        "languages": [block.language for block in blocks(page)],
        "commands": shells,
        "links": links,
    }
