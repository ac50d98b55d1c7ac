"""What callers can do, each act declared once. HTTP, the clients and commands read these tables."""

from __future__ import annotations

from foja.interfaces.operations import access, alerts, anchors, jobs, log, maintenance, webhooks
from foja.interfaces.operations.operation import Operation
from foja.interfaces.operations.records import conversations, documents, images, streams

OPERATIONS: tuple[Operation, ...] = (
    *conversations.OPERATIONS,
    *streams.OPERATIONS,
    *documents.OPERATIONS,
    *images.OPERATIONS,
    *jobs.OPERATIONS,
    *anchors.OPERATIONS,
    *alerts.OPERATIONS,
    *maintenance.OPERATIONS,
    *webhooks.OPERATIONS,
    *log.OPERATIONS,
    *access.OPERATIONS,
)
