"""What administrators did about keys, sessions, webhooks and jobs: events of the domain `system`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.pure.models.system.events import ACCESS_CHANGED, JOB_CHANGED, WEBHOOK_CHANGED

KINDS: Final = (ACCESS_CHANGED, JOB_CHANGED, WEBHOOK_CHANGED)
NEWEST_EVENTS: Final = 2_000  # of a stream; acts before them are in `foja events`


@dataclass(frozen=True, slots=True)
class Act:
    """One act: when, of which kind, by whom, and what it says."""

    at: datetime
    kind: str
    actor: str | None
    payload: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What was done, in one word: `key.created`, `job.retry`, `webhook.created`."""
        if self.kind == ACCESS_CHANGED:
            return str(self.payload["action"])
        word = self.payload["action"] if self.kind == JOB_CHANGED else self.payload["change"]
        return f"{self.kind.partition('.')[0]}.{word}"

    @property
    def about(self) -> str:
        """What it was done to, as far as the event names it."""
        if jobs := self.payload.get("jobs"):
            return ", ".join(f"{job['type']} #{job['id']}" for job in jobs)
        names = ("name", "key_id", "subject", "type", "server")
        return next((str(self.payload[name]) for name in names if self.payload.get(name)), "")


async def read_acts(database: Database, tenant: str, *, installation: bool, limit: int) -> list[Act]:
    """Return the newest acts of a tenant, and those about the installation if it may be seen."""
    tenants = [tenant, "system"] if installation else [tenant]
    values = {"tenants": tenants, "kinds": [*KINDS], "newest": NEWEST_EVENTS, "limit": limit}
    return await database.rows(sql.query("recent_acts"), Act, **values)
