"""Streams of a user's own domain, and the registry of domains as the database has it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from foja import sql
from foja.core.registry import Domain, JobType, Kind
from foja.documents.document import Document
from foja.driver.database import Database
from foja.errors import UnknownDomain, UnknownEntity
from foja.ledger.event import Draft, Event, StreamItem, new_id
from foja.ledger.event_proof import EventProof, prove_event
from foja.ledger.ledger import Ledger
from foja.ledger.reader import StreamState
from foja.ledger.slots import Slots

Protect = Callable[[UUID, Iterable[str]], Awaitable[Document]]


class Stream:
    """One stream of a domain. It exists from its first event on."""

    def __init__(self, entity_id: UUID, ledger: Ledger, domain: Domain, protect: Protect) -> None:
        self.id, self.domain = entity_id, domain
        self._ledger, self._protect = ledger, protect

    async def append(
        self,
        kind: str,
        payload: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
        actor: str | None = None,
        v: int = 1,
    ) -> Event:
        """Append one event and return it with its number."""
        event = self.draft(
            kind, payload, idempotency_key=idempotency_key, expected_seq=expected_seq, actor=actor, v=v
        )
        return await self._ledger.append(event)

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append all of these drafts or none."""
        return await self._ledger.append_many(drafts)

    def draft(self, kind: str, payload: Mapping[str, Any], **more: Any) -> Draft:
        """Return an event of this stream, checked but not recorded."""
        return self._ledger.draft(self.domain, self.id, kind, payload, **more)

    async def reserve(self, count: int, *, ttl: float = 30, intents: Sequence[Any] | None = None) -> Slots:
        """Reserve the next `count` numbers, to be filled in any order within `ttl` seconds."""
        return await self._ledger.reserve(self.domain, self.id, count, ttl, intents)

    async def events(self, *, after: str | int | None = None, limit: int = 1000) -> list[Event]:
        """Return up to `limit` events after a cursor or number, open slots as `slot.open`."""
        return await self._ledger.events(self.id, after, limit)

    def follow(self, *, after: str | int | None = None) -> AsyncGenerator[StreamItem]:
        """Yield the events that are there, then those that come."""
        return self._ledger.follow(self.id, after)

    async def state(self) -> StreamState:
        """Return the next number of this stream and how far it is sealed."""
        return await self._ledger.state(self.id)

    async def prove(self, seq: int) -> EventProof:
        """Return the proof that an event is in the log; raise `NotCovered` while no checkpoint covers it."""
        return await prove_event(self._ledger, self.id, seq)

    async def erase(self, seq: int, *, reason: str, actor: str | None = None) -> None:
        """Remove the body of one event; its hash and every proof stay."""
        await self._ledger.erase(self.id, seq, reason=reason, actor=actor)

    async def protect(self, required_evidence: Iterable[str] = ("tsa",)) -> Document:
        """Make a document of the sealed events so far, and request evidence for it."""
        return await self._protect(self.id, required_evidence)


class Streams:
    """The streams of one domain and tenant."""

    def __init__(self, ledger: Ledger, domain: Domain, protect: Protect) -> None:
        self._ledger, self._domain, self._protect = ledger, domain, protect

    async def open(self, entity_id: UUID | str | None = None) -> Stream:
        """Return a new stream, or the one with this id."""
        try:
            given = new_id() if entity_id is None else UUID(str(entity_id))
        except ValueError:
            raise UnknownEntity(
                f"{entity_id!r} is not a valid {self._domain.name} id: expected a UUID"
            ) from None
        return Stream(given, self._ledger, self._domain, self._protect)

    async def list(self, *, before: UUID | None = None, limit: int = 100) -> list[UUID]:
        """Return the ids of streams, newest first, from below one of them."""
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
