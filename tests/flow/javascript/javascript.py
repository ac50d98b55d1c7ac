"""Runs the ES module in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
MODULE = ROOT / "src" / "foja" / "interfaces" / "web" / "static" / "foja.js"
NODE = shutil.which("node")

needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def run_script(script: str, value: Any) -> Any:
    """Return the output of a script of this folder for a value."""
    assert NODE is not None
    command = [NODE, str(Path(__file__).with_name(script)), MODULE.as_uri()]
    ran = subprocess.run(
        command, input=json.dumps(value), capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
