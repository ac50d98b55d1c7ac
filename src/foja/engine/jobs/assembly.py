"""What an installation gives to a domain, and what a domain brings to an installation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from foja.engine.blobs.objects import Objects
from foja.engine.driver.database import Database
from foja.engine.health.service import Health
from foja.engine.jobs.spec import WorkerSpec
from foja.engine.ledger.ledger import Ledger
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.settings import Settings

Chore = Callable[[], Awaitable[int]]  # returns how much it did
Service = TypeVar("Service")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The parts of an installation that its domains use."""

    settings: Settings
    installation_id: UUID
    database: Database  # as `api`
    reader: Database
    operator: Database
    sweeper: Database
    ledger: Ledger
    objects: Objects
    notifier: Notifier
    vkey: str  # of the log
    closing: AsyncExitStack
    health: Health


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """One domain, put together: its workers and its chores."""

    workers: Sequence[WorkerSpec] = ()
    chores: Sequence[Chore] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantAssembly(Assembly, Generic[Service]):
    """A domain whose service each tenant has. It is made quickly: all tenants share the connections."""

    service_of: Callable[[str], Service]
