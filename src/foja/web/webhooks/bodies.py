"""The bodies of requests and answers about webhooks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from foja.web.bodies import RequestBody
from foja.web.reference.answers import Answer


class NewWebhook(RequestBody):
    """A webhook to create. Without a secret one is made."""

    url: str
    kinds: list[str] = Field(default=["*"])
    include_payload: bool = False
    description: str = ""
    secret: str | None = None
    from_start: bool = False


class WebhookChange(RequestBody):
    """What to change of a webhook; what is left out stays."""

    url: str | None = None
    kinds: list[str] | None = None
    include_payload: bool | None = None
    description: str | None = None
    state: Literal["on", "off"] | None = None
    reason: str | None = None


class Rotation(RequestBody):
    """A new secret, and how long the old one signs as well."""

    secret: str | None = None
    overlap_seconds: float = 86_400


class Replay(RequestBody):
    """Which deliveries to send again: numbers, times (ISO 8601), or those that failed."""

    first: int | None = Field(default=None, ge=0, le=2**63 - 1)
    last: int | None = Field(default=None, ge=0, le=2**63 - 1)
    since: str | None = None
    until: str | None = None
    failed: bool = False


class WebhookAnswer(Answer):
    """A webhook as it stands."""

    id: str
    url: str
    kinds: list[str]
    include_payload: bool
    description: str
    state: Literal["on", "off"]
    off_reason: str | None
    failures: int = Field(description="attempts that failed in a row")
    failing_since: str | None
    created_at: str
    waiting: int = Field(description="deliveries that are not done; at most 10,000 are counted")
    behind: int = Field(description="events of the log that it has not seen")


class CreatedWebhook(WebhookAnswer):
    """A webhook with its secret, which is not shown again."""

    secret: str


class RemovedWebhook(Answer):
    """A webhook that was removed."""

    id: str
    removed: Literal[True]


class WebhookList(Answer):
    """The webhooks of the tenant, oldest first."""

    webhooks: list[WebhookAnswer]


class DeliveryAnswer(Answer):
    """A delivery with its last attempt."""

    id: int
    entity_id: str
    seq: int
    kind: str
    state: Literal["waiting", "delivered", "failed"]
    attempts: int
    created_at: str
    ended_at: str | None
    status: int | None
    error: str | None


class DeliveryList(Answer):
    """Deliveries, newest first."""

    deliveries: list[DeliveryAnswer]
    next: str | None = Field(description="the address of older ones")


class AttemptAnswer(Answer):
    """One attempt to deliver."""

    at: str
    status: int | None
    error: str | None
    seconds: float


class DeliveryWithAttempts(DeliveryAnswer):
    """A delivery with all its attempts, oldest first."""

    log: list[AttemptAnswer]


class Replayed(Answer):
    """How many deliveries are sent again."""

    replayed: int
