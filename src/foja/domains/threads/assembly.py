"""Threads, put together for an installation."""

from __future__ import annotations

from foja.domains.threads.service import Threads
from foja.engine.jobs.assembly import Shared, TenantAssembly


def assemble(shared: Shared) -> TenantAssembly[Threads]:
    """Return the threads of an installation."""
    return TenantAssembly(service_of=lambda tenant: Threads(shared.ledger.of(tenant)))
