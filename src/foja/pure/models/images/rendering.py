"""How far the variants of an image are, as callers see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class RenderState:
    """How far the variants of an image are: `queued`, `processing`, `success` or `error`."""

    status: str
    attempts: int
    last_error: str | None
    duration_ms: int | None
    error_code: str | None
    skipped: Annotated[str | None, "why nothing was rendered, if the job is done"]
    spent: Annotated[bool, "whether only force tries it again"]
