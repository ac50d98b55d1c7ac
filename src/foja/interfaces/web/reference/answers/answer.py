"""What all answers have in common."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """One JSON object with exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class Health(Answer):
    """The database answers."""

    status: Literal["ok"]


class Part(BaseModel):
    """One part of an installation: how it does, and since when."""

    ok: bool
    state: Literal["works", "failing", "paused", "untried"]
    since: str | None = Field(description="it fails or is paused since then, or was tried last then")
    detail: str | None = Field(default=None, description="why a part that requests need cannot be used")
    error: str | None = Field(default=None, description="for operators of the installation: its last error")
    advice: str | None = Field(default=None, description="for operators of the installation: what to do next")


class Readiness(BaseModel):
    """Whether requests can be served (`degraded`: yes, but another part fails), and how each part does."""

    status: Literal["ok", "degraded", "failed"]
    parts: dict[str, Part]
