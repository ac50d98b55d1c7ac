"""The stream that the code is working for, so that every log line of that work can name it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Find = Callable[[], object]
_current: ContextVar[Find | None] = ContextVar("correlation", default=None)


@contextmanager
def correlated(find: Find) -> Iterator[None]:
    """Let log lines of this block carry what `find` returns then: the id of a stream, or None."""
    token = _current.set(find)
    try:
        yield
    finally:
        _current.reset(token)


def correlation_id() -> str | None:
    """Return the id of the stream that the code is working for, if it is known."""
    find = _current.get()
    found = find() if find else None
    return None if found is None else str(found)
