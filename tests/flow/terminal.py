"""Run a command on a pseudo-terminal and read what it draws."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time

from tests.flow.command import FOJA

TIMEOUT_SECONDS = 60.0
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PIECES = re.compile(rf"{_ESCAPE.pattern}|\n|\r|[^\x1b\r\n]+")


class Terminal:
    """A command on a terminal of 100 columns and 30 rows."""

    def __init__(self, *arguments: object) -> None:
        self._screen, command = pty.openpty()
        size = {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
        self._process = subprocess.Popen(
            [*FOJA, *map(str, arguments)],
            stdin=command,
            stdout=command,
            stderr=command,
            env={**os.environ, **size},
        )
        os.close(command)
        self.raw = ""

    @property
    def text(self) -> str:
        """Everything that was drawn, without colours and cursor movements."""
        return _ESCAPE.sub("", self.raw).replace("\r", "")

    @property
    def rows(self) -> list[str]:
        """The rows on the screen now, without erased ones, as if the screen had no last row."""
        rows, row, column = [""], 0, 0
        for piece in _PIECES.findall(self.raw):
            if piece == "\n":
                row += 1
                rows += [""] * (row + 1 - len(rows))
            elif piece == "\r":
                column = 0
            elif piece == "\x1b[2K":
                rows[row] = ""
            elif piece.endswith("A") and piece.startswith("\x1b["):
                row = max(row - int(piece[2:-1] or 1), 0)
            elif not piece.startswith("\x1b"):
                rows[row] = rows[row].ljust(column)[:column] + piece + rows[row][column + len(piece) :]
                column += len(piece)
        return [line.rstrip() for line in rows if line.strip()]

    def wait_for(self, text: str) -> None:
        """Read until the text was drawn."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while text not in self.text:
            assert time.monotonic() < deadline, f"{text!r} was not drawn:\n{self.text}"
            self._read()

    def end(self, number: signal.Signals) -> int:
        """Send a signal, read all output, and return the exit code."""
        self._process.send_signal(number)
        while self._process.poll() is None:
            self._read()
        while self._read():
            pass
        return self._process.returncode

    def close(self) -> None:
        """Stop the command and close the terminal."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._screen)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._screen], [], [], 0.2)
        try:
            data = os.read(self._screen, 65_536) if ready else b""
        except OSError:  # the command closed its end
            return False
        self.raw += data.decode(errors="replace")
        return bool(data)
