"""Processes of tests that share nothing with the test's own process, except what was imported.

They are forked from a server process that imported Foja once and did nothing else: an import takes longer
than most of what these processes do. How `foja` itself starts is tested with the command.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "foja.app",
        "foja.engine.ledger.lanes.redis",
        "foja.engine.ledger.live.redis_pubsub",
        "pytest",
        "hypothesis.stateful",
    ]
)


def begin(target: Callable[..., object], *args: object) -> BaseProcess:
    """Start a process that calls `target`. It is ended with the process of the test."""
    here = (dict(os.environ), Path.cwd())
    process = _CONTEXT.Process(target=_call, args=(here, target, args), daemon=True)
    process.start()
    return process


def pool(count: int) -> ProcessPoolExecutor:
    """Return an executor with processes of this kind."""
    here = (dict(os.environ), Path.cwd())
    return ProcessPoolExecutor(count, mp_context=_CONTEXT, initializer=_settle, initargs=here)


def _call(here: tuple[dict[str, str], Path], target: Callable[..., object], args: tuple[object, ...]) -> None:
    _settle(*here)
    target(*args)


def _settle(environment: dict[str, str], folder: Path) -> None:
    """Take over what a process otherwise inherits: the server was started by an earlier test."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
