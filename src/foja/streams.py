"""Streams of a user's own domain, and the registry of domains as the database has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from foja import sql
from foja.core.registry import Domain, JobType, Kind
from foja.documents.document import Document
from foja.driver.database import Database
from foja.errors import UnknownDomain
from foja.ledger.ledger import Ledger
from foja.ledger.stream import Stream, stream_id

Protect = Callable[[UUID, Iterable[str]], Awaitable[Document]]


class OwnStream(Stream):
    """A stream of a user's domain."""

    __slots__ = ("_protect",)

    def __init__(self, entity_id: UUID, ledger: Ledger, domain: Domain, protect: Protect) -> None:
        super().__init__(entity_id, ledger, domain)
        self._protect = protect

    async def protect(self, required_evidence: Iterable[str] = ("tsa",)) -> Document:
        """Add the sealed events as a document, request evidence of it and return it."""
        return await self._protect(self.id, required_evidence)


class Streams:
    """The streams of one domain and tenant."""

    def __init__(self, ledger: Ledger, domain: Domain, protect: Protect) -> None:
        self._ledger, self._domain, self._protect = ledger, domain, protect

    async def open(self, entity_id: UUID | str | None = None) -> OwnStream:
        """Return a new stream, or the one with this id."""
        return OwnStream(stream_id(entity_id, self._domain.name), self._ledger, self._domain, self._protect)

    async def list(self, *, before: UUID | None = None, limit: int = 100) -> list[UUID]:
        """Return the ids of streams, newest first; `before` is the last id of the page before."""
        return await self._ledger.entities(self._domain, before, limit)


class Registry:
    """The domains that a database has."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def domains(self) -> list[Domain]:
        """Return every registered domain. Without code, none of them has a `decide`."""
        rows = await self._database.rows(sql.query("registered_domains"))
        return [_domain(definition) for _, _, definition in rows]

    async def find(self, name: str) -> Domain:
        """Return the domain of this name, or raise `UnknownDomain`."""
        found = {domain.name: domain for domain in await self.domains()}
        if name not in found:
            raise UnknownDomain(
                f"there is no domain {name!r}; registered are {', '.join(sorted(found))}: "
                "register it with `foja migrate --domains module:NAME`"
            )
        return found[name]


def _domain(definition: Mapping[str, Any]) -> Domain:
    kinds = [_kind(kind) for kind in definition["kinds"]]
    jobs = [JobType(**_named(job)) for job in definition["jobs"]]
    return Domain(
        definition["domain"],
        kinds,
        jobs,
        head_only=definition["head_only"],
        executor=definition["executor"],
    )


def _named(job: Mapping[str, Any]) -> dict[str, Any]:
    return {("name" if name == "type" else name): value for name, value in job.items()}


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
    )
