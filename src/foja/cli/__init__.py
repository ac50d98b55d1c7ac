"""The command `foja`. Nothing heavy is imported before it is known what to do.

Ends with 0 if all is well, 1 if something was found or refused, 2 if the command or
the installation is wrong, 130 after Ctrl-C and 143 after a request to end.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Coroutine, Sequence
from importlib import import_module
from types import CoroutineType
from typing import Any

from foja import missing
from foja.cli.output import report_error, speak_anywhere
from foja.cli.parser import grammar
from foja.errors import FojaError, SetupFailed, Unavailable

FOUND, WRONG, INTERRUPTED, PIPE_CLOSED, TERMINATED = 1, 2, 130, 141, 143


def main(words: Sequence[str] | None = None) -> int:
    """Do what the words say and return the exit code; our errors are one line each."""
    speak_anywhere()
    arguments = grammar().parse_args(words)
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _end_quietly()
    except FojaError as error:
        report_error(error, as_json=arguments.json)
        return WRONG if isinstance(error, SetupFailed | Unavailable) else FOUND
    except OSError as error:
        report_error(error, as_json=arguments.json)
        return WRONG


def verb(arguments: Namespace) -> Any:
    """Return the function of a verb, imported only now."""
    module, _, name = arguments.run.partition(":")
    try:
        return getattr(import_module(f"foja.cli.{module}"), name)
    except ModuleNotFoundError as error:
        raise missing(error) from error


def _run(arguments: Namespace) -> int:
    result = verb(arguments)(arguments)
    code: int = _wait(result) if isinstance(result, CoroutineType) else result
    sys.stdout.flush()
    return code


def _wait(work: Coroutine[Any, Any, int]) -> int:
    """Run work that waits; a request to end cancels it, so that everything it opened is closed."""
    import asyncio  # late: what does not wait starts faster without it
    import signal

    async def until_told() -> int:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(until_told())
    except asyncio.CancelledError:
        return TERMINATED


def _end_quietly() -> int:
    """Whoever read our output has gone; Python must not complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED
