"""What runs of maintenance did."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from foja.web.reference.answers.answer import Answer


class RunAnswer(Answer):
    """What a scan or a purge did, or would do."""

    run: str
    action: Literal["scan", "purge"]
    started_at: str
    dry: bool = Field(description="whether nothing was changed")
    outcome: Literal["complete", "aborted"]
    detail: str | None
    checked: int
    staged: int
    strays: int
    missing: int
    quarantined: int
    unstaged: int
    deleted: int
    bytes: int
    missing_objects: list[str]


class CandidateItem(Answer):
    """An object that nothing refers to and that is not purged."""

    path: str
    detected_at: str
    last_seen_reference: str | None
    size: int | None
    state: str


class PastRun(Answer):
    """A run that ended, as it was recorded."""

    run: str
    action: str
    outcome: str
    started_at: str
    ended_at: str
    detail: str | None
    checked: int
    candidates: int
    staged: int
    strays: int
    missing: int
    rescued: int
    rescued_late: int
    false_positives: int
    quarantined: int
    deleted: int
    bytes: int


class CleanupReport(Answer):
    """How the hygiene of the store stands, and its candidates, oldest first."""

    armed: bool
    armed_days: int
    needed_days: int
    brake: str | None = Field(description="why a purge would be aborted")
    objects: int
    due: int
    quarantined: int
    last_scan: str | None
    total_staged: int
    lt_1d: int
    d1_3: int
    d3_7: int
    gte_7d: int
    staged: int
    rescued: int
    false_positives: int
    deleted: int
    bytes: int
    rescued_ratio: float
    false_positive_ratio: float
    unstaged_ratio: float
    runs: list[PastRun]
    candidates: list[CandidateItem]


class DeletedObjects(Answer):
    """The keys of what was deleted."""

    deleted: list[str]


class RestoredObject(Answer):
    """The key of an object that is live again."""

    restored: str


class RetryAnswer(Answer):
    """How much failed work was started again."""

    evidence: int = Field(description="failed evidence of documents that has new attempts")
    images: int = Field(description="images that are rendered again")
    jobs: int = Field(description="dead jobs that are queued again")
