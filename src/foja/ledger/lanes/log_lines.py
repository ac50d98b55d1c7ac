"""The log lines of seed 002 with their fields, except the one about numbers from a clock."""

from __future__ import annotations

import logging
from uuid import UUID

log = logging.getLogger("foja.lanes")


def numbered(session: UUID, seq: int) -> None:
    """Log a number from Redis."""
    if log.isEnabledFor(logging.DEBUG):
        log.debug("Next sequence number from Redis", extra={"sessionId": str(session), "sequenceNumber": seq})


def fell_back(session: UUID) -> None:
    """Log that Redis did not answer."""
    log.warning("Redis not available, falling back to database", extra={"sessionId": str(session)})


def failed(session: UUID, error: Exception) -> None:
    """Log that no lane could number an event."""
    log.error("Failed to get next sequence number", extra={"sessionId": str(session), "error": str(error)})
