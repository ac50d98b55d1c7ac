"""Run the command `foja` in tests: in this process, or as a separate process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

FOJA = [sys.executable, "-m", "foja"]

Run = Callable[..., "CommandResult"]


def address_of(lines: Iterable[str]) -> str:
    """Return the address that `foja up` prints last."""
    last = next(line for line in lines if line.startswith("running at "))
    return last.removeprefix("running at ").partition(";")[0]


class CommandResult:
    """The exit code, the output and the errors of a command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Process:
    """The command as a separate process."""

    def __init__(self, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [*FOJA, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    @property
    def id(self) -> int:
        return self._process.pid

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def error_line(self) -> str:
        assert self._process.stderr is not None
        return self._process.stderr.readline()

    def wait(self, seconds: float) -> int:
        """Return its exit code; it must end by itself within so many seconds."""
        return self._process.wait(seconds)

    def stop(self, number: signal.Signals) -> int:
        """Return its exit code; what it printed is left to who reads its lines."""
        self._process.send_signal(number)
        return self._process.wait(timeout=60)

    def end(self, number: signal.Signals) -> CommandResult:
        self._process.send_signal(number)
        out, err = self._process.communicate(timeout=60)
        return CommandResult(self._process.returncode, out, err)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=60)


def well(ran: CommandResult) -> CommandResult:
    """Return the result of a command that must have exit code 0."""
    assert ran.code == 0, ran.err
    return ran


def check_refused(result: CommandResult, code: int, message: str) -> None:
    assert (result.code, result.out) == (code, ""), result.err
    assert result.err.startswith("foja: ")
    assert len(result.err.splitlines()) == 1
    assert message in result.err
