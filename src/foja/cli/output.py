"""What people and programs read: lines, tables, JSON, progress."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from foja.errors import FojaError

Progress = Callable[[int, int], None]


def speak_anywhere() -> None:
    """Let no terminal that lacks a character stop a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(line: str = "") -> None:
    """Print a line for people."""
    print(line, flush=True)


def complain(line: str) -> None:
    """Print what went wrong, as one line beside the output."""
    print(f"foja: {' '.join(line.split())}", file=sys.stderr, flush=True)


def report_error(error: FojaError | OSError, *, as_json: bool) -> None:
    """Print an error on standard error: one line, or one JSON object with its code."""
    if isinstance(error, FojaError):
        code, retryable, detail = error.code, error.retryable, str(error)
    else:
        code, retryable = "os_error", False
        detail = f"{error.filename or 'the system'}: {error.strerror or error}"
    if as_json:
        body = {"error": type(error).__name__, "code": code, "retryable": retryable, "detail": detail}
        print(json.dumps(body, ensure_ascii=False), file=sys.stderr, flush=True)
    else:
        complain(detail)


def document(value: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=_word), flush=True)


def record(value: Any) -> None:
    """Print one line of JSON."""
    print(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_word), flush=True)


def _word(value: object) -> str:
    """Return what JSON has no type for; a moment as ISO 8601 writes it."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns under their heads; numbers to the right."""
    lines = [[_cell(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    right = [all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(head))]
    for line in (head, *lines):
        cells = zip(line, widths, right, strict=True)
        say("  ".join(cell.rjust(w) if to_right else cell.ljust(w) for cell, w, to_right in cells).rstrip())


@contextmanager
def progress(label: str) -> Iterator[Progress | None]:
    """Show a bar while something long goes on, if anybody is looking at it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return (
        f"{value:,.2f}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )
