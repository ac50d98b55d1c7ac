"""Networks, batches and costs as callers see them. Amounts are in the smallest unit of the network."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias, get_args
from uuid import UUID

from foja.pure.pages import Rows

NetworkName: TypeAlias = Literal["polygon", "bitcoin", "rekor"]
Status: TypeAlias = Literal["drafted", "sent", "confirmed", "reorged", "refused"]
NAMES: tuple[NetworkName, ...] = get_args(NetworkName)
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True)
class NetworkView:
    """A network as it stands. Amounts are in its smallest unit."""

    configured: Annotated[bool, "whether the settings of this process name it"]
    missing: Annotated[list[str], "settings that it needs; none if it is configured"]
    network: str
    enabled: bool
    held: Annotated[str | None, "why no new batch is made"]
    held_at: datetime | None
    waiting: Annotated[int, "digests that are in no batch yet"]
    pending: Annotated[int, "batches that are not confirmed yet"]
    spent: Annotated[Decimal, "within 24 hours, with the most that open batches may cost"]


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch as it stands."""

    id: UUID
    network: str
    status: str
    size: int
    root: str
    account: str | None
    nonce: int | None
    max_fee: Decimal
    fee: Decimal | None
    created_at: datetime
    confirmed_at: datetime | None
    next_look: datetime | None
    detail: str | None
    told: Annotated[int, "documents that have the event about its end, or all if there is nothing to tell"]
    outcome: Any
    trust: list[str]
    state: Any


@dataclass(frozen=True, slots=True)
class CostView:
    """What the batches of one network cost on one day (UTC), in its smallest unit."""

    network: str
    day: date
    batches: int
    digests: int
    fee: Decimal
    open_fee: Annotated[Decimal, "the most that batches may cost whose fee is not known yet"]


@dataclass(frozen=True, slots=True)
class NetworkList(Rows[NetworkView]):
    """Every network."""

    networks: list[NetworkView]


@dataclass(frozen=True, slots=True)
class BatchPage(Rows[BatchView]):
    """Batches, newest first."""

    batches: list[BatchView]
    next: Annotated[UUID | None, "the last id, if there may be older ones"]


@dataclass(frozen=True, slots=True)
class CostList(Rows[CostView]):
    """Costs by day and network, newest first."""

    costs: list[CostView]
