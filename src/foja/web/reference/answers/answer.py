"""What all answers have in common, and the answer of a refusal."""

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
    """One part of an installation."""

    ok: bool
    detail: str | None = None


class Readiness(BaseModel):
    """Whether requests can be served, and which part cannot."""

    status: Literal["ok", "failed"]
    parts: dict[str, Part]


class Problem(BaseModel):
    """Why a request was refused, and what to do next (RFC 9457)."""

    type: str = Field(description="`urn:foja:` and the class of the error, or `about:blank`")
    title: str
    status: int
    detail: str = Field(description="what was refused, why, and what to do next")
    error: str | None = Field(default=None, description="the class of the error, if it is one of Foja's")
    code: str | None = Field(default=None, description="the stable code of the error")
