"""Every finding of the measurements is in the table, and in the name or the docstring of a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
LAST = {"J": 13, "D": 11, "C": 6, "O": 10, "T": 4, "F": 12}
IDS = [f"{letter}{number}" for letter, last in LAST.items() for number in range(1, last + 1)]
ROWS = dict(
    re.findall(r"^\| ([A-Z]\d+) \|.*\| (.+) \|$", (ROOT / "docs" / "findings.md").read_text(), re.MULTILINE)
)


def test_the_table_has_every_finding_once() -> None:
    assert list(ROWS) == IDS


@pytest.mark.parametrize("finding", IDS)
def test_a_finding_names_tests_that_exist(finding: str) -> None:
    named = re.findall(r"(?:tests/)?\b([\w/]+\.py)(?:::(\w+))?", ROWS[finding])
    assert named
    for file, test in named:
        assert f"def {test}" in (TESTS / file).read_text()


@pytest.mark.parametrize("finding", IDS)
def test_a_finding_is_in_the_name_or_docstring_of_a_test(finding: str) -> None:
    assert finding in named_findings()


@cache
def named_findings() -> frozenset[str]:
    """Return every id in the name or the docstring of a test."""
    return frozenset(
        chain.from_iterable(ids_of(ast.parse(path.read_text())) for path in TESTS.rglob("test_*.py"))
    )


def ids_of(module: ast.Module) -> Iterator[str]:
    yield from ids_in(ast.get_docstring(module) or "")
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield from ids_in(f"{ast.get_docstring(node) or ''} {node.name.replace('_', ' ').upper()}")


def ids_in(text: str) -> list[str]:
    return re.findall(r"\b[JDCOTF]\d+\b", text)
