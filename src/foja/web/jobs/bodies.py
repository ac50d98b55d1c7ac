"""Request bodies about jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from foja.web.bodies import RequestBody

MAX_JOBS = 1_000
State = Literal["queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"]
JobId = Annotated[int, Field(ge=1, lt=2**63)]


class NewJobBody(RequestBody):
    """A job of a domain of yours. Without a key, the Idempotency-Key of the request is used."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"type": "send_invoice", "entity_id": "0190b8f0-0000-7000-8000-000000000000", "key": "send:1"}
            ]
        }
    )

    type: str
    entity_id: str
    key: str | None = None
    payload: dict[str, Any] = Field(default_factory=dict)
    delay: Annotated[float, Field(ge=0)] = 0.0
    priority: Annotated[int, Field(ge=0, le=2)] = 1


class JobSelection(RequestBody):
    """Jobs by their ids, or all that match a filter, at most 1,000 at once."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "dead", "type": "run_tsa"}]})

    ids: Annotated[list[JobId], Field(min_length=1, max_length=MAX_JOBS)] | None = None
    state: State | None = None
    type: str | None = None
    entity_id: str | None = None
