"""Conversations, put together for an installation."""

from __future__ import annotations

from functools import partial

from foja.conversations.expiry import expire_approvals
from foja.conversations.service import Conversations, Document, Protect
from foja.jobs.assembly import Assembly, Shared


def assemble(shared: Shared, protect: Protect[Document]) -> Assembly[Conversations[Document]]:
    """Return the conversations of an installation; `protect` makes a document of one."""
    return Assembly(
        service=Conversations(shared.ledger, protect),
        chores=[partial(expire_approvals, shared.sweeper, shared.notifier)],
    )
