"""Networks, their batches and their costs. Amounts are texts, in the smallest unit of the network."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from foja.web.reference.answers.answer import Answer


class NetworkAnswer(Answer):
    """A network as it stands."""

    network: str
    configured: bool = Field(description="whether the settings of this process name it")
    missing: list[str] = Field(description="settings that it needs")
    enabled: bool
    held: str | None = Field(description="why no new batch is made")
    held_at: str | None
    waiting: int
    pending: int
    spent: str


class NetworkList(Answer):
    """Every network."""

    networks: list[NetworkAnswer]


class BatchItem(Answer):
    """A batch of digests that is anchored together."""

    id: str
    network: str
    status: str
    size: int
    root: str
    account: str | None
    nonce: int | None
    max_fee: str
    fee: str | None
    created_at: str
    confirmed_at: str | None
    next_look: str | None
    detail: str | None
    told: int
    outcome: Any
    trust: list[str]
    state: Any


class BatchPage(Answer):
    """Batches, newest first."""

    batches: list[BatchItem]
    next: str | None = Field(description="the address of older ones")


class CostItem(Answer):
    """What the batches of one network cost on one day (UTC)."""

    network: str
    day: str
    batches: int
    digests: int
    fee: str
    open_fee: str


class CostList(Answer):
    """Costs by day and network, newest first."""

    costs: list[CostItem]


class Flushed(Answer):
    """How many jobs waited for more digests."""

    network: str
    jobs: int


class Enabled(Answer):
    """Whether documents may require a network, what is missing, and what was found there."""

    network: str
    enabled: bool
    missing: list[str]
    found: dict[str, Any]
