"""Output: lines, tables, JSON and progress bars."""

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


def escape_unencodable() -> None:
    """Escape characters that the terminal cannot encode; they must not stop a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_line(line: str = "") -> None:
    """Print one line of text."""
    print(line, flush=True)


def print_error(line: str) -> None:
    """Print an error as one line on stderr."""
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
        print_error(detail)


def print_json(value: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=_to_text), flush=True)


def print_json_line(value: Any) -> None:
    """Print one line of JSON."""
    print(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_to_text), flush=True)


def _to_text(value: object) -> str:
    """Return a value that JSON has no type for as text; times in ISO 8601."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows as a table with a heading; numbers are aligned to the right."""
    lines = [[_cell(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    right = [all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(head))]
    for line in (head, *lines):
        cells = zip(line, widths, right, strict=True)
        aligned = (cell.rjust(w) if to_right else cell.ljust(w) for cell, w, to_right in cells)
        print_line("  ".join(aligned).rstrip())


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """Show a progress bar while the block runs; yield None if stderr is not a terminal."""
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
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
