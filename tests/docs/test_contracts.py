"""Import contracts, where SQL may be written, how long a module may be."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from generate.source import NOTE
from tests.docs.pages import ROOT, SOURCE

MODULES = sorted(SOURCE.rglob("*.py"))
OUTSIDE_SQL = [path for path in MODULES if SOURCE / "engine" / "sql" not in path.parents]
MAX_LINES, MAX_MODULES, MAX_TESTS = 500, 12, 25  # 300 lines are a question, 500 the end

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


# For each contract an import that it forbids: the module that gets it, and the line.
SMUGGLED = {
    "floors": ("domains/documents/document.py", "import foja.interfaces.operations"),
    "pure_layers": ("pure/proofs/finding.py", "import foja.pure.judge.report"),
    "engine_layers": ("engine/ledger/reader.py", "import foja.engine.jobs.queue"),
    "domains": ("domains/documents/document.py", "import foja.domains.conversations.service"),
    "models": ("pure/models/documents/rules.py", "import foja.pure.models.images.gallery"),
    "pure": ("pure/models/documents/rules.py", "import time"),
    "judge": ("verification.py", "import psycopg"),
    "client": ("client/events.py", "import foja.engine.ledger.reader"),
    "sockets": ("domains/documents/stamper.py", "import httpx"),
    "postgres": ("engine/jobs/queue.py", "import psycopg"),
}


def lint(source: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the import linter over a copy of the package, or the package itself."""
    linter = Path(sys.executable).with_name("lint-imports")
    command = [str(linter), "--no-cache", "--config", str(ROOT / "pyproject.toml"), *options]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    return subprocess.run(
        command, cwd=source, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def contracts() -> list[dict[str, Any]]:
    """Return the contracts of the import linter."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return list(found)


def test_every_import_contract_is_kept() -> None:
    ran = lint(SOURCE.parent)
    assert ran.returncode == 0, ran.stdout
    assert f"{len(contracts())} kept, 0 broken" in ran.stdout


def test_every_import_contract_has_a_smuggled_import() -> None:
    assert {each["id"] for each in contracts()} == SMUGGLED.keys()


@pytest.mark.parametrize("contract", sorted(SMUGGLED))
def test_a_smuggled_import_breaks_its_contract(contract: str, tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "foja", ignore=shutil.ignore_patterns("__pycache__", "static"))
    module, line = SMUGGLED[contract]
    file = tmp_path / "foja" / module
    file.write_text(f"{file.read_text()}\n\n{line}\n")
    ran = lint(tmp_path, "--contract", contract)
    assert ran.returncode == 1, ran.stdout
    assert "0 kept, 1 broken" in ran.stdout


def test_every_package_and_module_has_a_layer() -> None:
    """`exhaustive` makes the linter refuse a module without one; here, that each floor has layers."""
    layered = [each for each in contracts() if each["type"] == "layers"]
    assert all(each["exhaustive"] for each in layered)
    assert all(" : " not in layer for each in layered for layer in each["layers"])
    floors = {"foja", "foja.pure", "foja.engine", "foja.domains"}
    assert {name for each in layered for name in each["containers"]} == floors


def test_no_package_directly_holds_many_modules() -> None:
    folders = {path.parent for path in MODULES}
    sizes = {str(each.relative_to(SOURCE)): len(list(each.glob("[a-z]*.py"))) for each in folders}
    assert {name: size for name, size in sizes.items() if size > MAX_MODULES} == {}


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
    text = path.read_text()
    assert NOTE in text or len(text.splitlines()) <= MAX_LINES


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


def test_no_folder_of_tests_holds_many_files() -> None:
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    sizes = {str(each.relative_to(ROOT)): len(list(each.glob("*.py"))) for each in folders}
    assert {name: size for name, size in sizes.items() if size > MAX_TESTS} == {}
