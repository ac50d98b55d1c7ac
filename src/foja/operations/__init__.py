"""What callers can do, each act declared once. HTTP, the clients and commands read these tables."""

from __future__ import annotations

from foja.operations import access, anchors, jobs, log, maintenance, webhooks
from foja.operations.operation import Operation
from foja.operations.records import conversations, documents, images, streams

OPERATIONS: tuple[Operation, ...] = (
    *conversations.OPERATIONS,
    *streams.OPERATIONS,
    *documents.OPERATIONS,
    *images.OPERATIONS,
    *jobs.OPERATIONS,
    *anchors.OPERATIONS,
    *maintenance.OPERATIONS,
    *webhooks.OPERATIONS,
    *log.OPERATIONS,
    *access.OPERATIONS,
)
