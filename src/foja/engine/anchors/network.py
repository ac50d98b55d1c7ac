"""What a network does for a batch: check, draft, send, look, prove.

A network has no memory. What it must know later is in the `state` it returns, which is stored with
the batch before anything else happens. No method is called inside a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeAlias
from uuid import UUID

State: TypeAlias = Mapping[str, Any]  # JSON


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a digest in a batch: what its own proof adds to that of the batch."""

    digest: bytes
    salt: bytes
    index: int
    size: int
    path: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it is stored."""

    id: UUID
    network: str
    root: bytes  # of the tree; of a batch of one on Rekor, the digest itself
    size: int
    account: str | None  # the account that pays, on Polygon
    nonce: int | None
    state: State
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Drafted:
    """What will be sent. It is stored before it is sent, and sent again after a crash."""

    state: State
    max_fee: int = 0  # the most that it can cost, in the smallest unit of the network


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not confirmed yet. `state` replaces the stored one; look again after `seconds`."""

    state: State
    seconds: float
    detail: str
    max_fee: int = 0  # the most that it can cost with this state, where that is more than before


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Confirmed, and judged so by our own judge. `state` holds all that `prove` needs."""

    state: State
    confirmed_at: datetime
    payload: Mapping[str, Any]  # more fields of `anchor.confirmed` or `rekor.confirmed`, the same for all
    trust: Sequence[str] = ()  # what our own nodes confirmed, as `foja.verify(trust=…)` takes it
    fee: int = 0  # paid, in the smallest unit of the network


@dataclass(frozen=True, slots=True)
class Refused:
    """It cannot be confirmed any more; `code` is one of the closed list of `anchor.failed`.

    `spent` says that the account's nonce is used up: by this batch or by a foreign transaction.
    """

    state: State
    code: str
    detail: str
    spent: bool = False
    fee: int = 0


Progress: TypeAlias = Waiting | Confirmed | Refused


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a network can be used now: one line for each thing that is missing, and what was found."""

    missing: Sequence[str] = ()
    # Account, balance, chain, calendars, log … `nonce` and `final_nonce` count the account's transactions in
    # all blocks and in final ones; each is absent if the nodes do not agree on it.
    found: Mapping[str, Any] = field(default_factory=dict)


class Network(Protocol):
    """Polygon, Bitcoin or Rekor. An outage of a node raises `foja.errors.Unavailable`."""

    @property
    def name(self) -> str:
        """Its name."""

    async def check(self) -> Readiness:
        """Ask node, key, balance, calendars or log whether anchors can be made now."""

    @property
    def account(self) -> str | None:
        """The account whose nonces the batches use, or None where there are none."""

    async def draft(self, root: bytes, nonce: int | None) -> Drafted:
        """Sign what will be sent. Nothing is sent."""

    async def send(self, batch: Batch) -> Progress:
        """Send what was drafted, or send it again: the same bytes, paid once."""

    async def look(self, batch: Batch) -> Progress:
        """Ask whether it is confirmed; replace what is stuck. Also asked for batches past their deadline."""

    async def watch(self, batch: Batch) -> Confirmed | Refused:
        """Ask whether a confirmed batch still is; `Refused("reorged")` if its block is gone."""

    def prove(self, batch: Batch, place: Place) -> bytes:
        """Return the proof of one digest of a confirmed batch, in its tool's own format. Pure."""


def nonce_doubt(network: Network, ready: Readiness) -> str | None:
    """Return why no nonce can be taken from the nodes, or None. A network without accounts needs none."""
    if network.account is None or ready.found.get("nonce") is not None:
        return None
    troubles = "; ".join(ready.found.get("troubles", ()))
    return troubles or f"the nodes of {network.name} do not agree on the nonce of {network.account}"
