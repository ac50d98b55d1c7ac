"""What callers can do, each act declared once. HTTP, the clients and commands read these tables."""

from __future__ import annotations

from foja.operations import jobs
from foja.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = (*jobs.OPERATIONS,)
