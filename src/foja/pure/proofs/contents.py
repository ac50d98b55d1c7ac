"""What recorded events say, as reports show it: plain values, each text cut to a limit.

Every text is one of a stranger: of the actor, or of who recorded the event.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

MAX_CONTENT = 1000  # characters of a content, a name or a reason


class Act(StrEnum):
    """What an event did. A kind without a word of its own was only recorded."""

    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    ASKED = "asked"  # for an approval
    REQUESTED = "requested"  # a tool
    ANSWERED = "answered"  # with the result of a tool
    SAID = "said"
    VOIDED = "voided"
    ERASED = "erased"  # the body of another event
    RECORDED = "recorded"
    HIDDEN = "hidden"  # its own body was erased or is withheld


@dataclass(frozen=True, slots=True)
class Statement:
    """What one event says: who did what, when, with which content."""

    seq: int
    kind: str
    at: datetime  # by the clock of the ledger
    act: Act
    actor: str | None = None
    what: str | None = None  # the tool
    content: str | None = None  # the arguments, the message or the result
    digest: str | None = None  # the SHA-256 of the arguments, where they are not shown
    reason: str | None = None
    about: int | None = None  # the number of the event that it answers, voids or erases


@dataclass(frozen=True, slots=True)
class Completeness:
    """What of a whole history is open, by the numbers of its events, in order."""

    requests: tuple[int, ...] = ()  # tools without a result
    approvals: tuple[int, ...] = ()  # without a decision
    expired: tuple[int, ...] = ()  # approvals that nobody decided in time
    voided: tuple[tuple[int, str | None], ...] = ()  # numbers that were given and not used, with the reason
    hidden: tuple[int, ...] = ()  # events without their body


@dataclass(frozen=True, slots=True)
class Contents:
    """The events of one stream that a report shows: one of them alone, or a whole history."""

    entity_id: UUID
    domain: str | None  # None if no hash covers it
    statements: tuple[Statement, ...]
    events: int  # from number 0 on, if the whole history is there
    whole: Completeness | None = None  # None: one event alone
    size: int | None = None  # entries of the checkpoint that covers them, if a trusted key signed it

    @property
    def alone(self) -> bool:
        """Whether this is one event, without those before and after it."""
        return self.whole is None
