"""Packages of npm for tests, installed once into a folder outside the tree."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

CACHE = Path.home() / ".cache" / "foja-test"
_DONE = "installed.json"


def installed(package: str, *, overrides: Mapping[str, str] = {}) -> Path:
    """Return the folder that holds node_modules with a package; skip if npm cannot install it.

    Scripts of packages are not run.
    """
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        pytest.skip(f"npm and node are needed for {package} (apt install npm)")
    folder = CACHE / package.lstrip("@").replace("/", "-")
    wanted = {"private": True, "overrides": dict(overrides)}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as turn:
        flock(turn, LOCK_EX)  # another process of this run may be installing it
        done = folder / _DONE
        if done.exists() and json.loads(done.read_text()) == wanted:
            return folder
        (folder / "package.json").write_text(json.dumps(wanted))
        words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), package]
        try:
            subprocess.run([npm, *words], cwd=folder, capture_output=True, timeout=300, check=True)
        except (subprocess.SubprocessError, OSError):
            pytest.skip(f"npm could not install {package}")
        done.write_text(json.dumps(wanted))
    return folder
