"""What callers can do, each act declared once. HTTP, the clients and commands read these tables."""

from __future__ import annotations

from foja.operations import access, conversations, jobs, log, streams, webhooks
from foja.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = (
    *conversations.OPERATIONS,
    *streams.OPERATIONS,
    *jobs.OPERATIONS,
    *webhooks.OPERATIONS,
    *log.OPERATIONS,
    *access.OPERATIONS,
)
