"""Read long histories without Python's search for cycles of garbage: parsed JSON has none.

That search looks through every list of an event again and again, and takes longer than judging it. While a
history is read it runs only after each `_ROUND` bytes, for what the rest of the process leaves behind.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

_ROUND: Final = 64 << 20


@contextmanager
def paused() -> Iterator[None]:
    """Let the collector rest meanwhile, if it is in use."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def in_rounds(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield these lines, and collect after each round."""
    unseen = 0
    for line in lines:
        unseen += len(line)
        if unseen > _ROUND:
            unseen = 0
            gc.collect()
        yield line
