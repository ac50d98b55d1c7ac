"""The log lines of seed 002 with their fields, except the one about numbers from a clock.

The first failure of an outage is a warning or an error; the others of the same outage are debug lines.
"""

from __future__ import annotations

import logging
from uuid import UUID

from foja.engine.faults import SETTLE_SECONDS, Watch

REDIS, NUMBERS = Watch("Redis", SETTLE_SECONDS), Watch("sequence numbers", SETTLE_SECONDS)
log = logging.getLogger("foja.lanes")


def numbered(session: UUID, seq: int) -> None:
    """Log a number from Redis."""
    REDIS.worked()
    if log.isEnabledFor(logging.DEBUG):
        log.debug("Next sequence number from Redis", extra={"sessionId": str(session), "sequenceNumber": seq})


def fell_back(session: UUID) -> None:
    """Log that Redis did not answer."""
    level = logging.WARNING if REDIS.begins() else logging.DEBUG
    log.log(level, "Redis not available, falling back to database", extra={"sessionId": str(session)})


def failed(session: UUID, error: Exception) -> None:
    """Log that no lane could number an event."""
    level = logging.ERROR if NUMBERS.begins() else logging.DEBUG
    fields = {"sessionId": str(session), "error": str(error)}
    log.log(level, "Failed to get next sequence number", extra=fields)
