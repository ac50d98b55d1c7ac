"""Less work for the garbage collector, which searches all objects again and again for cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 500  # objects that are worth a pause
SELDOM = 50_000  # objects made since the last search


def collect_seldom() -> None:
    """Search less often, and never in what was imported: requests and jobs make many objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(SELDOM, 20, 100)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector: it would search thousands of new objects again and again for nothing.

    The block must not await: other tasks need the collector.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # a process that froze its objects keeps them so
            gc.freeze()
            gc.unfreeze()  # the new objects are in the oldest generation now, and were not searched
        if enabled:
            gc.enable()
