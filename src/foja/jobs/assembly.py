"""What an installation gives to a domain, and what a domain brings to an installation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from foja.blobs.store import Store
from foja.core.note import Signer
from foja.driver.database import Database
from foja.jobs.queue import Queue
from foja.jobs.worker import Work
from foja.ledger.ledger import Ledger
from foja.ledger.live.notifier import Notifier
from foja.settings import Settings

Chore = Callable[[], Awaitable[int]]  # returns how much it did
Service = TypeVar("Service")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The parts of an installation that its domains use."""

    settings: Settings
    installation_id: UUID
    database: Database  # as `api`
    sweeper: Database
    ledger: Ledger
    store: Store
    notifier: Notifier
    signer: Signer
    closing: AsyncExitStack


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """How the jobs of one type are done; `work` is made when a worker is wanted."""

    type: str
    source: str
    work: Callable[[Queue], Work]
    batch: int = 100
    count: int = 1
    wake_on: Sequence[str] = ()  # domains whose growth may mean work
    after_checkpoint: bool = False  # what waits for a published checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly(Generic[Service]):
    """One domain, put together: the service for callers, its workers and its chores."""

    service: Service
    workers: Sequence[WorkerSpec] = ()
    chores: Sequence[Chore] = ()
