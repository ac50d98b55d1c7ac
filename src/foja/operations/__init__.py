"""What callers can do, each act declared once. HTTP, the clients and commands read these tables."""

from __future__ import annotations

from foja.operations import conversations, documents, jobs, streams
from foja.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = (
    *conversations.OPERATIONS,
    *streams.OPERATIONS,
    *documents.OPERATIONS,
    *jobs.OPERATIONS,
)
