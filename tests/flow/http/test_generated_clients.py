"""Generators of others read the OpenAPI document; docs/clients.md has the settings that one needs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.counterparties.npm import CACHE, installed
from tests.docs.doors import METHODS, openapi

PAGE = Path(__file__).parents[3] / "docs/clients.md"
TYPESCRIPT = {"typescript": "5.9.3"}  # the compiler of 2026 has no API that they use
PYTHON = "openapi-python-client==0.29.1"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(openapi()))
    return path


def operations(document: Path) -> list[dict[str, Any]]:
    paths = json.loads(document.read_text())["paths"].values()
    return [each for methods in paths for method, each in methods.items() if method in METHODS]


def run(folder: Path, *words: object) -> str:
    done = subprocess.run(
        [str(each) for each in words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.long
def test_openapi_typescript_has_every_operation(document: Path, tmp_path: Path) -> None:
    folder = installed("openapi-typescript@7.13.0", overrides=TYPESCRIPT)
    run(tmp_path, folder / "node_modules/.bin/openapi-typescript", document, "-o", "schema.ts")
    run(tmp_path, folder / "node_modules/.bin/tsc", "--strict", "--noEmit", "schema.ts")
    made = (tmp_path / "schema.ts").read_text().partition("export interface operations {")[2]
    assert len(re.findall(r"^    (?:\w+|\"[\w.]+\"): {$", made, re.MULTILINE)) == len(operations(document))


@pytest.mark.long
def test_hey_api_has_every_operation(document: Path, tmp_path: Path) -> None:
    folder = installed("@hey-api/openapi-ts@0.95.0", overrides=TYPESCRIPT)
    words = ["-i", document, "-o", tmp_path / "made", "-c", "@hey-api/client-fetch"]
    run(tmp_path, folder / "node_modules/.bin/openapi-ts", *words)
    made = (tmp_path / "made/sdk.gen.ts").read_text()
    assert len(re.findall(r"^export const \w+ = ", made, re.MULTILINE)) == len(operations(document))


@pytest.mark.long
def test_openapi_python_client_has_every_operation(document: Path, tmp_path: Path) -> None:
    folder = CACHE / PYTHON.replace("==", "-")
    command = folder / "bin/openapi-python-client"
    if not command.exists():
        venv.create(folder, with_pip=True)
        pip = [str(folder / "bin/pip"), "install", "--quiet", PYTHON]
        if subprocess.run(pip, capture_output=True, check=False).returncode:
            pytest.skip(f"pip could not install {PYTHON}")
    config = tmp_path / "config.yaml"
    config.write_text(PAGE.read_text().partition("```yaml\n")[2].partition("```")[0])
    made = tmp_path / "made"
    words = ["--path", document, "--config", config, "--output-path", made]
    assert "WARNING" not in run(tmp_path, command, "generate", *words)
    found = [each for each in made.glob("*/api/*/*.py") if each.name != "__init__.py"]
    assert len(found) == len(operations(document))
    run(tmp_path, sys.executable, "-m", "compileall", "-q", made)
