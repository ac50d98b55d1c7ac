"""Anchors for operators: enable, disable, list, show, flush, cost."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Annotated, NamedTuple, TypeAlias
from uuid import UUID

from pydantic import Field

from foja.engine import sql
from foja.engine.anchors.network import Network, Readiness, nonce_doubt
from foja.engine.anchors.proofs import AnchorProofs
from foja.engine.anchors.setup import missing_settings
from foja.engine.driver.database import Database
from foja.engine.settings import Settings
from foja.errors import CannotProduce, Refused, UnknownEntity
from foja.pure.core.fields import check_limit
from foja.pure.models.anchors.view import (
    NAMES,
    STATUSES,
    BatchPage,
    BatchView,
    CostList,
    CostView,
    NetworkList,
    NetworkName,
    NetworkView,
    Status,
)
from foja.pure.pages import MAX_LIMIT

MAX_DAYS = 3660
OfNetwork: TypeAlias = Annotated[NetworkName | None, "only this network"]


class NetworkRow(NamedTuple):
    """A network as the database has it."""

    network: str
    enabled: bool
    held: str | None
    held_at: datetime | None
    waiting: int
    pending: int
    spent: Decimal


class Anchors:
    """The networks of this installation and their batches, of all tenants."""

    def __init__(
        self, database: Database, networks: Mapping[str, Network], proofs: AnchorProofs, settings: Settings
    ) -> None:
        self._database, self.networks, self.proofs = database, networks, proofs
        self._settings = settings

    async def enable(self, network: str) -> Readiness:
        """Let documents require a network, unless something is missing; return what was found."""
        used = self.networks.get(_known(network))
        if used is None:
            missing = " and ".join(missing_settings(self._settings, network))
            raise CannotProduce(f"{network} is not set up: set {missing}, then enable it again")
        found = await used.check()
        if not found.missing and (doubt := nonce_doubt(used, found)):
            found = replace(found, missing=[doubt])
        if not found.missing:
            await self._database.row(sql.query("enable_network"), network=network)
        return found

    async def disable(self, network: str) -> bool:
        """Let no document require a network any more; return whether one could. Open attempts go on."""
        return bool(await self._database.value(sql.query("disable_network"), network=_known(network)))

    async def flush(self, network: str) -> int:
        """Send what waits without waiting for more digests; return how many jobs waited."""
        return int(await self._database.value(sql.query("flush_anchors"), network=_known(network)))

    async def overview(self) -> NetworkList:
        """List the networks: whether each is enabled, what waits, and what was spent."""
        rows = await self._database.rows(sql.query("anchor_networks"), NetworkRow)
        return NetworkList(
            [NetworkView(row.network in self.networks, self._missing(row.network), *row) for row in rows]
        )

    def _missing(self, name: str) -> builtins.list[str]:
        return [] if name in self.networks else [*missing_settings(self._settings, name)]

    async def list(
        self,
        *,
        network: OfNetwork = None,
        status: Annotated[Status | None, "only batches that are in this state"] = None,
        before: Annotated[UUID | None, "the last id of the page before"] = None,
        limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), "at most this many"] = 100,
    ) -> BatchPage:
        """List batches, newest first."""
        check_limit(limit)
        if status is not None and status not in STATUSES:
            raise Refused(f"there is no status {status!r}; a batch is {', '.join(STATUSES)}")
        found = await self._find(
            network=network and _known(network), status=status, before=before, limit=limit
        )
        return BatchPage(found, found[-1].id if len(found) == limit else None)

    async def show(self, batch_id: UUID) -> BatchView:
        """Return one batch as it stands."""
        found = await self._find(batch=batch_id)
        if not found:
            raise UnknownEntity(f"there is no batch {batch_id}; `foja anchors list` shows them")
        return found[0]

    async def cost(
        self,
        *,
        network: OfNetwork = None,
        days: Annotated[int, Field(ge=1, le=MAX_DAYS), "so many days back"] = 30,
    ) -> CostList:
        """Return what batches cost, by day and network, newest first."""
        check_limit(days, "days")
        values = {"network": network and _known(network), "days": days}
        return CostList(await self._database.rows(sql.query("anchor_costs"), CostView, **values))

    async def _find(self, **wanted: object) -> builtins.list[BatchView]:
        filters = dict.fromkeys(("network", "status", "batch", "before")) | {"limit": 1} | wanted
        return await self._database.rows(sql.query("anchor_batches"), BatchView, **filters)


def _known(name: str) -> str:
    if name not in NAMES:
        raise Refused(f"{name!r} is not a network: expected {', '.join(NAMES)}")
    return name
