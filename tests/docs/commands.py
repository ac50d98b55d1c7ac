"""Run the commands of a page as a reader would: with a program `foja`, and without settings of the tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.docs.pages import blocks, docs

FOJA = f"""exec {sys.executable} -m foja "$@" """


def shell_blocks(name: str) -> list[str]:
    """Return the shell commands of a page in docs/, block by block."""
    return [block.text for block in blocks(docs(name)) if block.language == "sh"]


def install(folder: Path, **programs: str) -> None:
    """Write small programs into a folder, each as the lines of a shell script."""
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o700)


def environment(*path: Path, **settings: str) -> dict[str, str]:
    """Return the environment without `FOJA_*`, with these folders before the others, and these settings."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FOJA_")}
    return {**clean, "PATH": ":".join([*map(str, path), os.environ["PATH"]]), **settings}
