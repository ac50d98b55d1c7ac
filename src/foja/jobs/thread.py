"""Run a user's function in a thread that cannot keep the process from ending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")


async def run_apart(function: Callable[[], Result]) -> Result:
    """Return what the function returns, or raise what it raises, as an `Exception`.

    It may never return. A thread of `asyncio.to_thread` would then block the end of the process.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Result] = loop.create_future()

    def end(set_result: Callable[[], None]) -> None:
        if not result.done():  # it is, if nothing waits for it any more
            set_result()

    def run() -> None:
        try:
            found = function()
        except BaseException as error:  # SystemExit, too: it must not end a worker
            wrong = _as_exception(error)
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(end, lambda: result.set_exception(wrong))
        else:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(end, lambda: result.set_result(found))

    threading.Thread(target=run, name="foja-apart", daemon=True).start()
    return await result


def _as_exception(error: BaseException) -> Exception:
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrong = RuntimeError(f"it raised {type(error).__name__}: {error}")
    wrong.__cause__ = error
    return wrong
