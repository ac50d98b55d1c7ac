"""The states of a document and of its evidence. Nothing is imported here, so that lists start fast."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """What a person sees: how strong the evidence is."""

    NONE = "none"
    PROTECTED = "protected"
    REINFORCED = "reinforced"
    FINAL = "final"


class Pipeline(StrEnum):
    """What a document is waiting for."""

    AWAITING_TSA = "awaiting_tsa"
    AWAITING_ANCHORS = "awaiting_anchors"
    AWAITING_ARTIFACT = "awaiting_artifact"


class EvidenceStatus(StrEnum):
    """The status of one evidence for one witness."""

    WAITING = "waiting"  # for an evidence that comes first, or for a witness
    REQUESTED = "requested"  # the executor opens the next attempt
    SCHEDULED = "scheduled"  # an attempt is open, and its job runs later
    OPEN = "open"
    RECORDED = "recorded"  # a timestamp is recorded, and the executor has not checked its token yet
    CONFIRMED = "confirmed"
    FAILED = "failed"  # not confirmed, or taken back, and the document is closed or final
    GIVEN_UP = "given_up"
    NOT_INSTALLED = "not_installed"
    SUPERSEDED = "superseded"  # not confirmed before a request named another witness
