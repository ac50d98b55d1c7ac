"""Bouncy Castle's evidence records, from Debian's packages, in a folder outside the tree."""

from __future__ import annotations

import shutil
import subprocess
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path

import pytest

CACHE = Path.home() / ".cache" / "foja-test" / "bouncycastle"
PACKAGES = ("libbcprov-java", "libbcutil-java", "libbcpkix-java")
JARS = CACHE / "usr" / "share" / "java"
PROGRAM = Path(__file__).parent / "ers" / "Ers.java"


@cache
def _installed() -> bool:
    """Download and unpack the packages once; nothing is installed into the system."""
    tools = [shutil.which(each) for each in ("java", "javac", "apt-get", "dpkg-deb")]
    if not all(tools):
        return False
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as turn:
        flock(turn, LOCK_EX)  # another process of this run may be unpacking it
        try:
            if not (JARS / "bcpkix.jar").exists():
                _run("apt-get", "download", "-qq", *PACKAGES)
                for package in sorted(CACHE.glob("*.deb")):
                    _run("dpkg-deb", "-x", str(package), ".")
            if not (CACHE / "Ers.class").exists() or _is_older(CACHE / "Ers.class", PROGRAM):
                _run("javac", "-cp", _classpath(), "-d", str(CACHE), str(PROGRAM))
        except (subprocess.SubprocessError, OSError):
            return False
    return True


def run_java(mode: str, folder: Path) -> list[str]:
    """Return the lines that the program prints; skip if it cannot be installed."""
    if not _installed():
        pytest.skip("Bouncy Castle cannot be installed: it needs a JDK and Debian's libbcpkix-java")
    words = ["java", "-cp", f"{CACHE}:{_classpath()}", "Ers", mode, str(folder)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def version() -> str:
    """Return the version of the packages, as Debian names it."""
    return f"{next(CACHE.glob('libbcpkix-java_*.deb')).name.split('_')[1]} (Debian)"


def _run(*words: str) -> None:
    subprocess.run(words, cwd=CACHE, capture_output=True, timeout=180, check=True)


def _classpath() -> str:
    return ":".join(str(JARS / f"{name}.jar") for name in ("bcprov", "bcutil", "bcpkix"))


def _is_older(one: Path, other: Path) -> bool:
    return one.stat().st_mtime < other.stat().st_mtime
