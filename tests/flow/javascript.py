"""A way to ask the ES module what it makes of something."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "src" / "foja" / "web" / "static" / "foja.js"
NODE = shutil.which("node")

needs_node = pytest.mark.skipif(NODE is None, reason="no node on this machine to run foja.js")


def ask(script: str, value: Any) -> Any:
    """Return what a script of this folder answers about a value."""
    assert NODE is not None
    command = [NODE, str(Path(__file__).with_name(script)), MODULE.as_uri()]
    ran = subprocess.run(
        command, input=json.dumps(value), capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
