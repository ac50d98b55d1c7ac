"""Output: lines, tables, JSON and progress bars."""

from __future__ import annotations

import io
import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any
from unicodedata import category

from foja.errors import FojaError, redact
from foja.interfaces.cli.output_files import write_file
from foja.pure.quotation import visible

_JOINERS = "\u200c\u200d"  # of emoji and of some scripts
Progress = Callable[[int, int], None]


def open_streams() -> bool:
    """Open /dev/null where a standard stream is closed, so that no other file gets its number.

    Return whether standard output was open.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    return sys.stdout is not None


def escape_unencodable() -> None:
    """Escape characters that the terminal cannot encode; they must not stop a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def escape(text: str) -> str:
    """Return a text without characters that control a terminal, break a line or change our direction."""
    return visible(text, _escape_one)


def _escape_one(character: str) -> str:
    if character.isprintable() or category(character) == "Zs" or character in _JOINERS:
        return character
    return character.encode("unicode_escape").decode()


def print_line(line: str = "") -> None:
    """Print one line of text; a name in it cannot add another one, or control the terminal."""
    print(escape(line), flush=True)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text."""
    for line in lines:
        print_line(line)


def print_notes(notes: Iterable[str | None]) -> None:
    """Print each note once."""
    print_lines(dict.fromkeys(filter(None, notes)))


def print_wait(line: str) -> None:
    """Print what is waited for to a person who watches."""
    if sys.stderr.isatty():
        _print_to_stderr(escape(line))


def print_error(line: str) -> None:
    """Print an error as one line on stderr."""
    _print_to_stderr(f"foja: {escape(' '.join(line.split()))}")


def _print_to_stderr(line: str) -> None:
    """Print a line; that standard error cannot be written must not change how a command ends."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def report_error(error: FojaError | OSError, *, as_json: bool) -> None:
    """Print an error on standard error: one line, or one JSON object with its code."""
    if isinstance(error, FojaError):
        code, retryable, detail = error.code, error.retryable, str(error)
    else:
        code, retryable = "os_error", False
        detail = redact(f"{error.filename or 'the system'}: {error.strerror or error}")
    if as_json:
        body = {"error": type(error).__name__, "code": code, "retryable": retryable, "detail": detail}
        _print_to_stderr(json.dumps(body, ensure_ascii=False))
    else:
        print_error(detail)


def print_json(value: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=_to_text), flush=True)


def print_result(arguments: Namespace, value: Any, *lines: str) -> None:
    """Print a value as JSON with --json, or else these lines."""
    if arguments.json:
        print_json(value)
    else:
        print_lines(lines)


def field_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each field."""
    return (f"{name:<16}{_field(value)}" for name, value in document.items())


def _field(value: object) -> str:
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return "-" if value is None else str(value)


def print_or_write(arguments: Namespace, name: str, text: str, advice: str) -> None:
    """Print a text, as JSON under its name with --json; or write it to --output and print the advice."""
    if arguments.json:
        print_json({name: text})
    elif arguments.output:
        write_file(arguments, arguments.output, text)
        print_line(f"wrote {arguments.output}; {advice}")
    else:
        print(text, end="")


def print_json_line(value: Any) -> None:
    """Print one line of JSON."""
    print(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_to_text), flush=True)


def _to_text(value: object) -> str:
    """Return a value that JSON has no type for as text; times in ISO 8601."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def table(head: Sequence[str], rows: Sequence[Sequence[object]], none: str | None = None) -> Iterator[str]:
    """Yield the lines of a table with a heading, or `none` without rows; numbers are aligned to the right."""
    if none and not rows:
        yield none
        return
    lines = [[_cell(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    right = [all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(head))]
    for line in (head, *lines):
        cells = zip(line, widths, right, strict=True)
        aligned = (cell.rjust(w) if to_right else cell.ljust(w) for cell, w, to_right in cells)
        yield "  ".join(aligned).rstrip()


def shorten(text: str, width: int) -> str:
    """Return a text of at most `width` characters."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


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
    return f"{value:,}" if isinstance(value, int) else escape(f"{value}")
