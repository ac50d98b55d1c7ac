"""Jobs over HTTP: enqueue, list, show, retry, cancel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from foja.client.transport import Transport


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it stands; `raw` is the whole answer."""

    id: int
    type: str
    state: str
    entity_id: UUID
    key: str
    tries: int
    last_error: str | None
    payload: Any
    raw: Mapping[str, Any]


class Jobs:
    """The jobs of the tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def enqueue(
        self,
        job_type: str,
        entity_id: UUID,
        *,
        key: str,
        payload: Mapping[str, Any] | None = None,
        delay: float = 0.0,
        priority: int = 1,
    ) -> bool:
        """Queue a job; return whether it is new. A type, a stream and a key make one job, for ever."""
        job = {"type": job_type, "entity_id": str(entity_id), "key": key, "payload": dict(payload or {})}
        body = {**job, "delay": delay, "priority": priority}
        return bool((await self._transport.ask("POST", "/v1/jobs", json=body))["new"])

    async def list(
        self,
        *,
        state: str | None = None,
        job_type: str | None = None,
        entity_id: UUID | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> Sequence[JobView]:
        """Return the newest jobs of these, newest first."""
        params = {"state": state, "type": job_type, "before": before, "limit": limit}
        params["entity_id"] = None if entity_id is None else str(entity_id)
        found = await self._transport.ask("GET", "/v1/jobs", params=params)
        return [_job(each) for each in found["jobs"]]

    async def show(self, job_id: int) -> JobView:
        """Return one job, or raise `UnknownJob`."""
        return _job(await self._transport.ask("GET", f"/v1/jobs/{job_id}"))

    async def retry(self, job_id: int) -> bool:
        """Queue a dead job anew with fresh tries, or a waiting one at once; return whether it did."""
        return bool((await self._transport.ask("POST", f"/v1/jobs/{job_id}/retry"))["done"])

    async def cancel(self, job_id: int) -> bool:
        """End a job that is not over, or put a dead one away; return whether it did."""
        return bool((await self._transport.ask("POST", f"/v1/jobs/{job_id}/cancel"))["done"])


def _job(found: Mapping[str, Any]) -> JobView:
    names = [name for name in JobView.__slots__ if name not in ("entity_id", "raw")]
    fields = {name: found[name] for name in names}
    return JobView(entity_id=UUID(found["entity_id"]), raw=found, **fields)
