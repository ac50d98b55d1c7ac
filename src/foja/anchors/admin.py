"""Anchors for operators: enable, disable, list, show, flush, cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from foja import sql
from foja.anchors.network import Network, Readiness, nonce_doubt
from foja.anchors.proofs import AnchorProofs
from foja.anchors.setup import missing_settings
from foja.core.fields import check_limit
from foja.driver.database import Database
from foja.errors import CannotProduce, Refused, UnknownEntity
from foja.settings import Settings

NAMES = ("polygon", "bitcoin", "rekor")
STATUSES = ("drafted", "sent", "confirmed", "reorged", "refused")


class NetworkRow(NamedTuple):
    """A network as the database has it."""

    network: str
    enabled: bool
    held: str | None
    held_at: datetime | None
    waiting: int
    pending: int
    spent: Decimal


@dataclass(frozen=True, slots=True)
class NetworkView:
    """A network as it stands. Amounts are in its smallest unit."""

    configured: bool  # whether the settings of this process name it
    missing: Sequence[str]  # settings that it needs; none if it is configured
    network: str
    enabled: bool
    held: str | None  # why no new batch is made
    held_at: datetime | None
    waiting: int  # digests that are in no batch yet
    pending: int  # batches that are not confirmed yet
    spent: Decimal  # within 24 hours, with the most that open batches may cost

    def document(self) -> dict[str, Any]:
        """Return the network as JSON carries it."""
        return asdict(self)


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
    told: int  # documents that have the event about its end, or all if there is nothing to tell
    outcome: Any
    trust: Sequence[str]
    state: Any

    def document(self) -> dict[str, Any]:
        """Return the batch as JSON carries it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CostView:
    """What the batches of one network cost on one day (UTC), in its smallest unit."""

    network: str
    day: date
    batches: int
    digests: int
    fee: Decimal
    open_fee: Decimal  # the most that batches may cost whose fee is not known yet

    def document(self) -> dict[str, Any]:
        """Return the cost as JSON carries it."""
        return asdict(self)


class Anchors:
    """The networks of this installation and their batches, of all tenants."""

    def __init__(
        self, database: Database, networks: Mapping[str, Network], proofs: AnchorProofs, settings: Settings
    ) -> None:
        self._database, self.networks, self.proofs = database, networks, proofs
        self._settings = settings

    async def enable(self, name: str) -> Readiness:
        """Let documents require a network, unless something is missing; return what was found."""
        network = self.networks.get(_known(name))
        if network is None:
            missing = " and ".join(missing_settings(self._settings, name))
            raise CannotProduce(f"{name} is not set up: set {missing}, then enable it again")
        found = await network.check()
        if not found.missing and (doubt := nonce_doubt(network, found)):
            found = replace(found, missing=[doubt])
        if not found.missing:
            await self._database.row(sql.query("enable_network"), network=name)
        return found

    async def disable(self, name: str) -> bool:
        """Let no document require a network any more; return whether one could. Open attempts go on."""
        return bool(await self._database.value(sql.query("disable_network"), network=_known(name)))

    async def flush(self, name: str) -> int:
        """Send what waits without waiting for more digests; return how many jobs waited."""
        return int(await self._database.value(sql.query("flush_anchors"), network=_known(name)))

    async def overview(self) -> Sequence[NetworkView]:
        """Return every network."""
        rows = await self._database.rows(sql.query("anchor_networks"), NetworkRow)
        return [NetworkView(row.network in self.networks, self._missing(row.network), *row) for row in rows]

    def _missing(self, name: str) -> Sequence[str]:
        return () if name in self.networks else missing_settings(self._settings, name)

    async def list(
        self,
        *,
        network: str | None = None,
        status: str | None = None,
        before: UUID | None = None,
        limit: int = 100,
    ) -> Sequence[BatchView]:
        """Return the newest batches of these, newest first; `before` is the last one of the page before."""
        check_limit(limit)
        if status is not None and status not in STATUSES:
            raise Refused(f"there is no status {status!r}; a batch is {', '.join(STATUSES)}")
        return await self._find(
            network=network and _known(network), status=status, before=before, limit=limit
        )

    async def show(self, batch: UUID) -> BatchView:
        """Return one batch, or raise `UnknownEntity`."""
        found = await self._find(batch=batch)
        if not found:
            raise UnknownEntity(f"there is no batch {batch}; `foja anchors list` shows them")
        return found[0]

    async def cost(self, *, network: str | None = None, days: int = 30) -> Sequence[CostView]:
        """Return what batches cost, by day and network, newest first."""
        check_limit(days, "days")
        return await self._database.rows(
            sql.query("anchor_costs"), CostView, network=network and _known(network), days=days
        )

    async def _find(self, **wanted: object) -> Sequence[BatchView]:
        filters = dict.fromkeys(("network", "status", "batch", "before")) | {"limit": 1} | wanted
        return await self._database.rows(sql.query("anchor_batches"), BatchView, **filters)


def _known(name: str) -> str:
    if name not in NAMES:
        raise Refused(f"{name!r} is not a network: expected {', '.join(NAMES)}")
    return name
