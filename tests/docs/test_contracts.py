"""The walls of the house: who may import whom, where SQL may stand, how long a file may be."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.paper import ROOT

SOURCE = ROOT / "src" / "foja"
MODULES = sorted(SOURCE.rglob("*.py"))
OUTSIDE_SQL = [path for path in MODULES if SOURCE / "sql" not in path.parents]
LONGEST = 500

STATEMENT = re.compile(
    r"\s*(select\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|truncate\s|merge\s+into\s"
    r"|(create|alter|drop)\s+(or\s+replace\s+)?(table|schema|function|index|role|view|type|database|trigger)\s"
    r"|(grant|revoke)\s.*\s(to|from)\s|with\s+\w+\s+as\s|set\s+(local\s+)?\w+\s*(=|to\s)|set\s+role\s"
    r"|(un)?listen\s+\w+;?$|notify\s+\w+|begin;?$|commit;?$|rollback;?$|vacuum\b|explain\s+(\(|select))",
    re.IGNORECASE,
)
CALLS = {"execute", "executemany", "copy", "SQL"}
# No host is named here either: only what the names of registries have in common.
REGISTRY = re.compile(r"\w+://[\w.-]*(registry|pypi|npm|mirror)[\w.-]*", re.IGNORECASE)
MACHINE = re.compile(r"(?<![\w.])/(work|home|Users)/\w+")
LEFT_OUT = {".git", ".venv", ".hypothesis", ".peers", "__pycache__", "node_modules", "dist", "build", ".foja"}


def test_no_room_imports_back() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "0 broken" in ran.stdout


def test_every_room_has_its_place_between_the_walls() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [layers] = [each["layers"] for each in settings["contracts"] if each["type"] == "layers"]
    placed = {name.split(".")[1] for layer in layers for name in layer.split(" : ")}
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert rooms <= placed


def test_every_module_of_documents_is_either_pure_or_has_hands() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [wall] = [each for each in settings["contracts"] if "decides and shows documents" in each["name"]]
    pure, hands = set(wall["source_modules"]), set(wall["forbidden_modules"])
    modules = {f"foja.documents.{path.stem}" for path in (SOURCE / "documents").glob("[a-z]*.py")}
    assert modules == pure | {name for name in hands if name.startswith("foja.documents.")}
    assert not pure & hands


@pytest.mark.parametrize("path", OUTSIDE_SQL, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_sql_stands_in_a_python_string(path: Path) -> None:
    assert list(sql_in(path.read_text())) == []


@pytest.mark.parametrize(
    "code",
    [
        'query = "select 1"',
        'query = f"UPDATE foja.event SET kind = {kind!r}"',
        'connection.execute("whatever this is")',
        'sql.SQL("drop {}").format(name)',
    ],
)
def test_sql_in_a_python_string_would_be_noticed(code: str) -> None:
    assert list(sql_in(code))


def test_a_sentence_is_no_sql() -> None:
    assert list(sql_in('"""Select one."""\nhelp = "show the log, then set it aside"')) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_module_is_too_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) < LONGEST


def test_no_file_names_a_registry_or_a_place_on_a_machine() -> None:
    assert [f"{path.relative_to(ROOT)}: {found}" for path, found in places_named()] == []


@pytest.mark.parametrize("line", ["cd /home/ana/foja", "fetched from https://npm.example/foja", str(ROOT)])
def test_a_named_place_would_be_noticed(line: str) -> None:
    assert place_in(f"see {line}; or not")


def sql_in(code: str) -> Iterator[str]:
    """Yield the strings of a module that are SQL, or are handed over as SQL; docstrings are not."""
    tree = ast.parse(code)
    sentences = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in sentences:
            if STATEMENT.match(node.value):
                yield node.value
        elif isinstance(node, ast.Call) and _hands_over_a_string(node):
            yield ast.unparse(node)


def _hands_over_a_string(call: ast.Call) -> bool:
    named = isinstance(call.func, ast.Attribute) and call.func.attr in CALLS
    return named and bool(call.args) and isinstance(call.args[0], ast.Constant | ast.JoinedStr)


def places_named() -> Iterator[tuple[Path, str]]:
    """Yield every file that names where packages come from, or where things lie on one machine."""
    for path in files(ROOT):
        if path != Path(__file__) and (found := place_in(path.read_text(errors="replace"))):
            yield path, found


def place_in(text: str) -> str | None:
    """Return a registry or a place on a machine that a text names."""
    if found := REGISTRY.search(text) or MACHINE.search(text):
        return found[0]
    return str(ROOT) if str(ROOT) in text else None


def files(folder: Path) -> Iterator[Path]:
    """Yield the files that belong to the project, not those that tools left."""
    for path in folder.iterdir():
        if path.name in LEFT_OUT or path.name.endswith(("_cache", ".egg-info")):
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path
