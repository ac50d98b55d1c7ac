"""The acts of a server, as the library has them. Written by `make generate`; do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from foja.client.transport import Transport, new_key
from foja.jobs.model.view import ChangedJobs, EnqueuedJob, JobPage, JobView, PausedType


class Jobs:
    """The jobs of the tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def list(
        self,
        *,
        state: Literal["queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"]
        | None = None,
        job_type: str | None = None,
        entity_id: UUID | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> JobPage:
        """List jobs, newest first; `next` says where older ones begin."""
        return await self._transport.act(
            "GET",
            "/v1/jobs",
            query={
                "state": state,
                "type": job_type,
                "entity_id": entity_id,
                "before": before,
                "limit": limit,
            },
            answer=JobPage,
        )

    async def show(
        self,
        job_id: int,
    ) -> JobView:
        """Return one job as it stands."""
        return await self._transport.act(
            "GET",
            "/v1/jobs/{job_id}",
            path={"job_id": job_id},
            answer=JobView,
        )

    async def enqueue(
        self,
        job_type: str,
        entity_id: UUID,
        *,
        key: str | None = None,
        payload: Mapping[str, Any] | None = None,
        delay: float = 0.0,
        priority: int = 1,
        idempotency_key: str | None = None,
    ) -> EnqueuedJob:
        """Queue a job of a domain of yours. A type, a stream and a key make one job, for ever."""
        return await self._transport.act(
            "POST",
            "/v1/jobs",
            body={
                "type": job_type,
                "entity_id": entity_id,
                "key": key,
                "payload": payload,
                "delay": delay,
                "priority": priority,
            },
            key=idempotency_key or new_key(),
            answer=EnqueuedJob,
        )

    async def retry(
        self,
        jobs: int | Sequence[int] | None = None,
        *,
        state: Literal["queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"]
        | None = None,
        job_type: str | None = None,
        entity_id: UUID | None = None,
    ) -> ChangedJobs:
        """Queue dead jobs anew with fresh tries, and waiting ones at once: these, or all that match."""
        return await self._transport.act(
            "POST",
            "/v1/jobs/retry",
            body={"ids": jobs, "state": state, "type": job_type, "entity_id": entity_id},
            answer=ChangedJobs,
        )

    async def cancel(
        self,
        jobs: int | Sequence[int] | None = None,
        *,
        state: Literal["queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"]
        | None = None,
        job_type: str | None = None,
        entity_id: UUID | None = None,
    ) -> ChangedJobs:
        """End jobs that are not over, and put dead ones away: these, or all that match."""
        return await self._transport.act(
            "POST",
            "/v1/jobs/cancel",
            body={"ids": jobs, "state": state, "type": job_type, "entity_id": entity_id},
            answer=ChangedJobs,
        )

    async def pause(
        self,
        job_type: str,
    ) -> PausedType:
        """Stop claims of this type, for all tenants, until it is resumed; running jobs finish."""
        return await self._transport.act(
            "POST",
            "/v1/jobs/types/{job_type}/pause",
            path={"job_type": job_type},
            answer=PausedType,
        )

    async def resume(
        self,
        job_type: str,
    ) -> PausedType:
        """Let this type be claimed again."""
        return await self._transport.act(
            "POST",
            "/v1/jobs/types/{job_type}/resume",
            path={"job_type": job_type},
            answer=PausedType,
        )
