"""Webhooks and their deliveries as callers see them, in Python, over HTTP and in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal, TypeAlias, get_args
from uuid import UUID

from foja.pure.pages import Rows

DeliveryState: TypeAlias = Literal["waiting", "delivered", "failed"]
STATES: tuple[str, ...] = get_args(DeliveryState)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook as it stands."""

    id: UUID
    url: str
    kinds: Sequence[str]
    include_payload: bool
    description: str
    state: Literal["on", "off"]
    off_reason: str | None
    failures: Annotated[int, "attempts that failed in a row"]
    failing_since: datetime | None
    created_at: datetime
    waiting: Annotated[int, "deliveries that are not done; at most 10,000 are counted"]
    behind: Annotated[int, "events of the log that it has not seen"]


@dataclass(frozen=True, slots=True)
class CreatedWebhook(Webhook):
    """A webhook with its secret, which is not shown again."""

    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RemovedWebhook:
    """A webhook that was removed."""

    id: UUID
    removed: bool = True


@dataclass(frozen=True, slots=True)
class WebhookList(Rows[Webhook]):
    """The webhooks of the tenant, oldest first."""

    webhooks: list[Webhook]


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A delivery as it stands, with its last attempt."""

    id: int
    entity_id: UUID
    seq: int
    kind: str
    state: DeliveryState
    attempts: int
    created_at: datetime
    ended_at: datetime | None
    status: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class DeliveryPage(Rows[DeliveryView]):
    """Deliveries, newest first."""

    deliveries: list[DeliveryView]
    next: Annotated[int | None, "the last id, if there may be older ones"]


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt to deliver."""

    at: datetime
    status: int | None
    error: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class DeliveryWithAttempts(DeliveryView):
    """A delivery with all its attempts, oldest first."""

    log: list[AttemptView]


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many deliveries are sent again."""

    replayed: int
