"""Conversations, put together for an installation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from foja.domains.conversations.expiry import expire_approvals
from foja.domains.conversations.service import Conversations
from foja.engine.jobs.assembly import Shared, TenantAssembly
from foja.engine.ledger.stream import Document, Protect


def assemble(
    shared: Shared, protect_of: Callable[[str], Protect[Document]]
) -> TenantAssembly[Conversations[Document]]:
    """Return the conversations of an installation; `protect_of` a tenant makes a document of one."""
    return TenantAssembly(
        service_of=lambda tenant: Conversations(shared.ledger.of(tenant), protect_of(tenant)),
        chores=[partial(expire_approvals, shared.sweeper, shared.notifier)],
    )
