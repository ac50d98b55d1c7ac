"""Every dependency has a lower bound, and Foja works with exactly these versions."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOOLS = {"dev", "test"}  # what only contributors install is pinned in constraints.txt
TESTS = [
    "tests/rules/judge/test_all_proofs.py",
    "tests/flow/http/test_http.py",
    "tests/flow/documents/test_bundle.py",
]
RUNNERS = ["pytest", "pytest-asyncio", "pytest-randomly", "pytest-timeout", "hypothesis", "asn1crypto"]


def requirements() -> dict[str, tuple[str, str]]:
    """Return the extra and the requirement of each dependency that users install, by its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    return {
        re.split(r"[\[<>=]", each)[0]: (group, each)
        for group, asked in groups.items()
        if group not in TOOLS
        for each in asked
        if not each.startswith("foja[")
    }


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {
        name.lower().replace("_", "-"): version
        for name, _, version in (line.partition("==") for line in lines)
    }


@pytest.mark.parametrize("name", requirements())
def test_every_dependency_has_a_lower_bound_below_its_pin(name: str) -> None:
    _, asked = requirements()[name]
    bound = re.fullmatch(r"[\w.-]+(?:\[\w+\])?>=([\d.]+)", asked)
    assert bound, f"{asked} has no lower bound"
    assert numbers(bound[1]) <= numbers(pins()[name])


@pytest.mark.long
def test_foja_works_with_the_lowest_versions(tmp_path: Path) -> None:
    """Install the lower bounds and nothing newer, then run the demo and the tests of proofs and HTTP."""
    lowest = [
        asked.replace(">=", "==")
        for group, asked in requirements().values()
        if group in {"", "demo", "server"}
    ]
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    pinned = [f"{name}=={pins()[name]}" for name in RUNNERS]
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    installed = subprocess.run([*install, *lowest, *pinned], capture_output=True, text=True, check=False)
    if installed.returncode and "connection" in installed.stderr.lower():
        pytest.skip("no package index can be reached")
    assert installed.returncode == 0, installed.stderr
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    code = "import sys; from foja.interfaces.cli import main; sys.exit(main(['demo']))"
    subprocess.run([python, "-c", code], env=environment, check=True, timeout=900)
    tests = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    subprocess.run(tests, env=environment, cwd=ROOT, check=True, timeout=1800)
