"""What is answered about the orphans of the store, and about failed work that is started again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from foja.pure.models.system.view import Candidate, OrphanReport
from foja.pure.pages import Rows


@dataclass(frozen=True, slots=True)
class CleanupReport(OrphanReport):
    """The state of orphans in the store, and the candidates, oldest first."""

    candidates: Sequence[Candidate]


@dataclass(frozen=True, slots=True)
class CandidateList(Rows[Candidate]):
    """Candidates, oldest first."""

    candidates: Sequence[Candidate]


@dataclass(frozen=True, slots=True)
class DeletedObjects:
    """The keys of what was deleted."""

    deleted: list[str]


@dataclass(frozen=True, slots=True)
class RestoredObject:
    """The key of an object that is live again."""

    restored: str


@dataclass(frozen=True, slots=True)
class Retried:
    """How much failed work was started again."""

    evidence: Annotated[int, "failed evidence of documents that has new attempts"]
    images: Annotated[int, "images that are rendered again"]
    jobs: Annotated[int, "dead jobs that are queued again"]
