"""Spans of requests and jobs, for a collector of traces. Without a tracer a span costs nothing.

This module imports nothing of Foja, so that every other module can import it. What sends spans is
`foja.integrations.otel`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol


class Span(Protocol):
    """A running span."""

    def rename(self, name: str) -> None:
        """Give it the name that is known only at its end."""

    def set(self, name: str, value: str | int) -> None:
        """Set an attribute."""

    def fail(self, reason: str) -> None:
        """Mark it as failed."""


class Tracer(Protocol):
    """What starts spans. `carrier` holds the headers that name the span of the caller."""

    def span(
        self, name: str, attributes: Mapping[str, str | int], carrier: Mapping[str, str] | None
    ) -> AbstractContextManager[Span]: ...


class _NoSpan:
    """The span of a process that is not traced."""

    def rename(self, name: str) -> None:
        return

    def set(self, name: str, value: str | int) -> None:
        return

    def fail(self, reason: str) -> None:
        return


_NOTHING = nullcontext(_NoSpan())
_tracer: Tracer | None = None


def span(
    name: str, attributes: Mapping[str, str | int] | None = None, carrier: Mapping[str, str] | None = None
) -> AbstractContextManager[Span]:
    """Return a span to be used with `with`; it does nothing if this process is not traced."""
    return _NOTHING if _tracer is None else _tracer.span(name, attributes or {}, carrier)


def traced() -> bool:
    """Return whether this process is traced, so that nothing is prepared for a span that is not read."""
    return _tracer is not None


@contextmanager
def tracing(tracer: Tracer) -> Iterator[None]:
    """Give every span to a tracer while the block runs."""
    global _tracer
    before, _tracer = _tracer, tracer
    try:
        yield
    finally:
        _tracer = before
