"""Request bodies of maintenance. What deletes is a dry run unless it says otherwise."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from foja.web.bodies import RequestBody
from foja.web.reference.answers.documents import DIGEST

What = Literal["documents", "images", "jobs"]


class CleanupBody(RequestBody):
    """A scan of the store for objects that nothing refers to."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"dry_run": True}]})

    dry_run: bool = True


class PurgeBody(RequestBody):
    """A purge of what is due."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"dry_run": True}]})

    dry_run: bool = True
    reason: str | None = None


class ObjectBody(RequestBody):
    """One object by its SHA-256 digest, and why."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"sha256": DIGEST, "reason": "requested by its owner"}]}
    )

    sha256: str
    reason: str


class RetryFailedBody(RequestBody):
    """Which failed work is started again."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"what": ["documents"]}]})

    what: Annotated[list[What], Field(min_length=1)] | None = Field(default=None, description="null: all")
    reason: str | None = None
    force: bool = Field(default=False, description="also variants that failed as often as they may be tried")
