"""The real `cosign`, from the path or from a newer Debian; it is only unpacked, outside the tree."""

from __future__ import annotations

import shutil
import subprocess
from fcntl import LOCK_EX, flock
from hashlib import sha256
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.other_tools import output

FOLDER = Path.home() / ".cache" / "foja-test" / "cosign"
PACKAGE = "http://deb.debian.org/debian/pool/main/c/cosign/cosign_3.1.1-2_amd64.deb"
SHA256 = "d8622ebffce1d69197288fc030ff06a4c247af5507107f85c5a878870b686b23"


def cosign() -> str:
    """Return the program; skip the test if it cannot be had."""
    found = shutil.which("cosign")
    if found:
        return found
    program = FOLDER / "usr" / "bin" / "cosign"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        flock(lock, LOCK_EX)  # another process of this run may be unpacking it
        try:
            if not program.exists():
                _unpack()
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            pytest.skip(f"cosign is not installed, and cannot be had from Debian: {error}")
    return str(program)


def version(program: str) -> str:
    """Return its version; that of Debian does not know its own."""
    if FOLDER in Path(program).parents:
        return PACKAGE.rpartition("/")[2].split("_")[1].partition("-")[0]
    return output(program, "version", pattern=r"GitVersion: +v?(\S+)")


def _unpack() -> None:
    with urlopen(PACKAGE, timeout=120) as answer:
        data = answer.read()
    if sha256(data).hexdigest() != SHA256:
        raise ValueError("the package is not the expected one")
    package = FOLDER / "cosign.deb"
    package.write_bytes(data)
    subprocess.run(["dpkg-deb", "-x", package, FOLDER], check=True, capture_output=True, timeout=120)
