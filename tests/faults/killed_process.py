"""A process that is killed with -9 in the middle of its work."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.processes import begin


def run_and_kill(target: Callable[..., None], *args: object) -> None:
    """Run a process until it has written some lines to its note, the last argument, and kill it."""
    note = args[-1]
    assert isinstance(note, Path)
    process = begin(target, *args)
    deadline = time.monotonic() + 60
    while not (note.exists() and note.read_text().count("\n") > 5):
        assert time.monotonic() < deadline
        assert process.is_alive()
        time.sleep(0.01)
    process.kill()
    process.join()
