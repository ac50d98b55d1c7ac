"""What was done for a tenant, as the tenant itself reads it."""

from __future__ import annotations

from foja.engine.ledger.event import Event
from foja.pure.models.system.events import SYSTEM
from foja.tenant import TenantApp


async def tenant_acts(app: TenantApp, kind: str) -> list[Event]:
    """Return the events of a kind in the tenant's own stream of the domain `system`."""
    streams = app.streams(SYSTEM)
    found = [event for each in await streams.list() for event in await (await streams.open(each)).events()]
    return [event for event in found if event.kind == kind]
