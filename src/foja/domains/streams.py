"""Streams of a user's own domain, and the registry of domains as the database has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from foja.domains.documents.document import Document
from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.ledger.event import parse_id
from foja.engine.ledger.ledger import Ledger
from foja.engine.ledger.stream import Protect, ProtectableStream
from foja.errors import UnknownDomain
from foja.pure.core.registry import Domain, JobType, Kind


class OwnStream(ProtectableStream[Document]):
    """A stream of a user's domain."""

    __slots__ = ()


class Registry:
    """The domains that a database has, kept in this process: a registered kind never changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Domain] = {}

    async def domains(self) -> list[Domain]:
        """Read every registered domain. Without code, none of them has a `decide`."""
        rows = await self._database.rows(sql.query("registered_domains"))
        self._known = {name: _domain(definition) for name, _, definition in rows}
        return list(self._known.values())

    async def find(self, name: str, kind: tuple[str, int] | None = None) -> Domain:
        """Return the domain of this name, or raise `UnknownDomain`.

        The registry is read again only if the domain, or this kind and version of it, is not known yet.
        """
        known = self._known.get(name)
        if known is None or (kind and kind not in {(each.name, each.v) for each in known.kinds}):
            await self.domains()
        if name not in self._known:
            raise UnknownDomain(
                f"there is no domain {name!r}; registered are {', '.join(sorted(self._known))}: "
                "register it with `foja migrate --domains module:NAME`"
            )
        return self._known[name]


class Streams:
    """The streams of one domain and tenant."""

    def __init__(
        self, ledger: Ledger, domain: Domain, protect: Protect[Document], registry: Registry
    ) -> None:
        self._ledger, self._domain, self._protect = ledger.only(domain), domain, protect
        self._registry = registry

    async def open(self, entity_id: UUID | str | None = None) -> OwnStream:
        """Return a new stream, or the one with this id; raise `UnknownDomain` if it is not registered."""
        await self._registry.find(self._domain.name)
        return OwnStream(parse_id(entity_id, self._domain.name), self._ledger, self._domain, self._protect)

    async def list(self, *, before: UUID | None = None, limit: int = 100) -> list[UUID]:
        """Return the ids of streams, newest first; `before` is the last id of the page before."""
        await self._registry.find(self._domain.name)
        return await self._ledger.entities(self._domain, before, limit)


def _domain(definition: Mapping[str, Any]) -> Domain:
    return Domain(
        definition["domain"],
        [_kind(kind) for kind in definition["kinds"]],
        [_job_type(job) for job in definition["jobs"]],
        head_only=definition["head_only"],
        executor=definition["executor"],
    )


def _job_type(job: Mapping[str, Any]) -> JobType:
    return JobType(job["type"], **{name: value for name, value in job.items() if name != "type"})


def _kind(kind: Mapping[str, Any]) -> Kind:
    checks, keyed = kind["client_checks"], kind["keyed_by"]
    return Kind(
        kind["kind"],
        kind["sources"],
        {name: "|".join(types) for name, types in kind["required"].items()},
        checks.get("optional", {}),
        {name: frozenset(allowed) for name, allowed in checks.get("choices", {}).items()},
        erasable=kind["erasable"],
        v=kind["v"],
        wakes=kind["wakes"],
        keyed_by=tuple(keyed) if keyed else None,
        digests=tuple(checks.get("digests", ())),
        tracked=kind["tracked"],
        retired=kind["retired"],
    )
