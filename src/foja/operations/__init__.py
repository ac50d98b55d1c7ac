"""What callers can do, each act declared once. HTTP, the clients and commands read these tables."""

from __future__ import annotations

from foja.operations import anchors, conversations, images, jobs, maintenance, streams
from foja.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = (
    *conversations.OPERATIONS,
    *streams.OPERATIONS,
    *images.OPERATIONS,
    *jobs.OPERATIONS,
    *anchors.OPERATIONS,
    *maintenance.OPERATIONS,
)
