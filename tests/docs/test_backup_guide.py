"""docs/backup.md: its commands, in their order, in a clean home."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from foja.engine.embedded.postgres import stop
from tests.docs.commands import FOJA, environment, install, shell_blocks


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="foja-test-") as name:
        for each in ("backups", "srv", "bin"):
            (Path(name) / each).mkdir()
        yield Path(name)
        for home in ("home", "srv/restored"):
            if (Path(name) / home).exists():
                stop(Path(name) / home, "immediate")


def script(folder: Path) -> str:
    """The commands of the page, with its folders moved below one of the test."""
    blocks = shell_blocks("backup")
    assert len(blocks) == 5
    return re.sub(r"(?<= )/(?=backups|srv)|(?<==)/(?=srv)", f"{folder}/", "".join(blocks))


def test_the_commands_of_the_guide_run_in_a_clean_home(folder: Path, empty_database_url: str) -> None:
    install(folder / "bin", foja=FOJA)
    (folder / "contract.txt").write_text("a contract")
    settings = environment(folder / "bin", FOJA_HOME=str(folder / "home"), NEW=empty_database_url)
    before, after = "foja protect contract.txt --wait", "foja status contract.txt"
    commands = "\n".join(["set -ex", f"cd {folder}", before, script(folder), f"cd {folder}", after])
    ran = subprocess.run(["bash", "-c", commands], env=settings, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("clean: ") == 3
    assert "is whole: installation" in ran.stdout
    assert "final" in ran.stdout.splitlines()[-2] + ran.stdout.splitlines()[-1]
    assert "/srv/moved" in ran.stderr
