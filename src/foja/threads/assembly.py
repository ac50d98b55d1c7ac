"""Threads, put together for an installation."""

from __future__ import annotations

from foja.jobs.assembly import Assembly, Shared
from foja.threads.service import Threads


def assemble(shared: Shared) -> Assembly[Threads]:
    """Return the threads of an installation."""
    return Assembly(service=Threads(shared.ledger))
