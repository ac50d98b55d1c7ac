"""The real AG-UI client, installed by npm in a folder that git ignores."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "ag_ui"


@cache
def _installed() -> bool:
    if (FOLDER / "node_modules" / "@ag-ui" / "client").exists():
        return True
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        return False
    command = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", str(FOLDER)]
    try:
        subprocess.run(command, cwd=FOLDER, capture_output=True, timeout=180, check=True)
    except (subprocess.SubprocessError, OSError):
        return False
    return True


def run_node(script: str, given: Any, *arguments: str) -> Any:
    """Return the output of a script for some JSON; skip if npm cannot install the client."""
    if not _installed():
        pytest.skip("npm could not install @ag-ui/client")
    ran = subprocess.run(
        ["node", str(FOLDER / script), *arguments],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
