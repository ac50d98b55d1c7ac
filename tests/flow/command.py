"""The command `foja` for tests: in this process, and as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

FOJA = [sys.executable, "-c", "import sys; from foja.cli import main; sys.exit(main())"]

Run = Callable[..., "Ran"]


class Ran:
    """How a command ended: its code, its output, and the one line it complained with."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Process:
    """The command as a process of its own."""

    def __init__(self, *words: object) -> None:
        self._process = subprocess.Popen(
            [*FOJA, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def complaint(self) -> str:
        assert self._process.stderr is not None
        return self._process.stderr.readline()

    def end(self, number: signal.Signals) -> Ran:
        self._process.send_signal(number)
        out, err = self._process.communicate(timeout=60)
        return Ran(self._process.returncode, out, err)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=60)


def check_refused(ran: Ran, code: int, says: str) -> None:
    assert (ran.code, ran.out) == (code, ""), ran.err
    assert ran.err.startswith("foja: ")
    assert len(ran.err.splitlines()) == 1
    assert says in ran.err
