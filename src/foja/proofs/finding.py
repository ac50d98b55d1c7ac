"""What one proof shows: the words that checks, reports and events share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Status(StrEnum):
    """How far one proof goes. Only `VERIFIED` proves anything."""

    VERIFIED = "VERIFIED"
    PENDING = "PENDING"
    INDETERMINATE = "INDETERMINATE"
    INVALID = "INVALID"
    ABSENT = "ABSENT"
    UNSUPPORTED = "UNSUPPORTED"


class Reason(StrEnum):
    """Why a proof is not verified, as a program reads it. Closed: a reason is added here or nowhere."""

    MALFORMED = "MALFORMED"
    NO_TRUST_ANCHOR = "NO_TRUST_ANCHOR"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one proof shows, in a sentence and in a code, and what was not looked at."""

    evidence: str  # tsa | polygon | bitcoin | rekor
    status: Status
    reason: Reason | None = None
    detail: str = ""
    no_later_than: datetime | None = None
    according_to: str | None = None
    not_checked: tuple[str, ...] = ()
