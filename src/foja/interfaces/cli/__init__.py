"""The command `foja`. Modules of a verb are imported only when the verb runs.

A command returns its exit code, or nothing if all is well.

Exit codes: 0 success, 1 something was found or refused, 2 the command or the
installation is wrong, 130 after Ctrl-C, 143 after SIGTERM.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Coroutine, Sequence
from importlib import import_module
from types import CoroutineType, TracebackType
from typing import Any

from foja.errors import FojaError, SetupFailed, Unavailable, redact
from foja.extras import needs
from foja.interfaces.cli.output import escape_unencodable, open_streams, print_error, report_error
from foja.interfaces.cli.parser import build_parser

FOUND, WRONG, INTERRUPTED, PIPE_CLOSED, TERMINATED = 1, 2, 130, 141, 143


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; each of our errors is printed as one line."""
    if not open_streams():
        print_error("standard output is closed; redirect it, for instance to /dev/null")
        return WRONG
    escape_unencodable()
    sys.excepthook = _print_traceback
    arguments = Namespace(json=False)
    try:
        build_parser().parse_args(argv, arguments)
        return _run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_unwritten()
        return PIPE_CLOSED
    except FojaError as error:
        report_error(error, as_json=arguments.json)
        return WRONG if isinstance(error, SetupFailed | Unavailable) else FOUND
    except OSError as error:
        report_error(error, as_json=arguments.json)
        _discard_unwritten()
        return WRONG


def _print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error that is a bug, without secrets: another library's message may contain an address."""
    import traceback

    print(redact("".join(traceback.format_exception(kind, error, trace))), end="", file=sys.stderr)


def load_command(arguments: Namespace) -> Any:
    """Import and return the function of a verb."""
    module, _, name = arguments.run.partition(":")
    return getattr(import_module(f"foja.interfaces.cli.{module}"), name)


def _run(arguments: Namespace) -> int:
    with needs(arguments.program, arguments.extra):
        result = load_command(arguments)(arguments)
        code: int | None = _run_async(result) if isinstance(result, CoroutineType) else result
    sys.stdout.flush()
    return code or 0


def _run_async(command: Coroutine[Any, Any, int | None]) -> int | None:
    """Run a coroutine; SIGTERM cancels it, so that it closes what it opened."""
    import asyncio  # late: commands that are not async start faster without it
    import signal

    async def run() -> int | None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await command

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        return TERMINATED


def _discard_unwritten() -> None:
    """Discard what stdout cannot take, so that Python does not report it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
