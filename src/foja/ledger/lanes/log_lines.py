"""The log lines of seed 002, with its fields. Its fourth, about a clock, has no place here."""

from __future__ import annotations

import logging
from uuid import UUID

log = logging.getLogger("foja.lanes")


def numbered(session: UUID, seq: int) -> None:
    """A number came from Redis."""
    if log.isEnabledFor(logging.DEBUG):
        log.debug("Next sequence number from Redis", extra={"sessionId": str(session), "sequenceNumber": seq})


def fell_back(session: UUID) -> None:
    """Redis did not answer."""
    log.warning("Redis not available, falling back to database", extra={"sessionId": str(session)})


def failed(session: UUID, error: Exception) -> None:
    """Nothing could number an event."""
    log.error("Failed to get next sequence number", extra={"sessionId": str(session), "error": str(error)})
