"""Threads, put together for an installation."""

from __future__ import annotations

from foja.jobs.assembly import Shared, TenantAssembly
from foja.threads.service import Threads


def assemble(shared: Shared) -> TenantAssembly[Threads]:
    """Return the threads of an installation."""
    return TenantAssembly(service_of=lambda tenant: Threads(shared.ledger.of(tenant)))
