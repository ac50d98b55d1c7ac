"""`protect_document_v2`: read histories, decide, append the events that open attempts.

The summaries that lists show are written here, too, and rebuilt by replay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from foja import sql
from foja.documents.model.events import NETWORKS, Evidence, Fact
from foja.documents.model.history import History, read
from foja.documents.model.projection import summary
from foja.documents.model.rules import Need, Policy, needs
from foja.driver import encoding
from foja.driver.database import Database
from foja.driver.encoding import Packed, Value
from foja.jobs.outcome import Done, Job, NewEvent, NewJob, Outcome
from foja.ledger.ledger import Ledger

TYPE, SOURCE = "protect_document_v2", "protect-document-v2"
PAGE_DOCUMENTS, LOCKED_AT_ONCE = 500, 20


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How many documents there are, in how many the list was wrong, and in how many the guards were."""

    documents: int
    mended: int
    guards: int = 0


class Executor:
    """Decides for many documents at once: one read, one write of summaries, one settlement."""

    def __init__(self, database: Database, policy: Policy, gather_seconds: float = 0.0) -> None:
        """`gather_seconds` is how long a digest waits for others of its network."""
        self._database, self._policy, self._gather_seconds = database, policy, gather_seconds

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Return what each document still needs, as events and the jobs that follow from them."""
        facts, now = await self._read([job.entity_id for job in jobs])
        histories = {document: read(events) for document, events in facts.items()}
        if facts:
            await self._database.row(sql.query("write_summaries"), **_entries(facts, histories))
        # Read every time: a network may be enabled or disabled while this process runs.
        abilities = {row[0] for row in await self._database.rows(sql.query("abilities"))}
        return [self._decide(job, histories.get(job.entity_id), abilities, now) for job in jobs]

    async def rebuild_all(self, ledger: Ledger) -> Rebuilt:
        """Rebuild by replay what is stored beside the events of documents; others may write meanwhile."""
        documents, mended, guards, after = 0, 0, 0, None
        while page := [row[0] for row in await ledger.ask("document_ids", after=after, limit=PAGE_DOCUMENTS)]:
            documents, after = documents + len(page), page[-1]
            guards += await self._rebuild_guards(page)
            mended += await self.rebuild(page)
        return Rebuilt(documents, mended, guards)

    async def rebuild(self, documents: Sequence[UUID]) -> int:
        """Write the summaries of these documents by replay; return how many were wrong."""
        repaired, left = 0, list(documents)
        while left and (facts := (await self._read(left))[0]):
            rows = await self._database.rows(sql.query("rebuild_summaries"), **_entries(facts, {}))
            repaired += sum(changed for _, changed in rows)
            left = sorted(facts.keys() - {document for document, _ in rows})  # these grew meanwhile
        return repaired

    async def _rebuild_guards(self, documents: Sequence[UUID]) -> int:
        """Rebuild what guards and deadlines are decided from; a few documents are locked at a time."""
        found = 0
        for start in range(0, len(documents), LOCKED_AT_ONCE):
            locked = documents[start : start + LOCKED_AT_ONCE]
            found += len(await self._database.rows(sql.query("rebuild_documents"), entities=locked))
        return found

    async def _read(self, documents: Sequence[UUID]) -> tuple[dict[UUID, list[Fact]], datetime | None]:
        rows = await self._database.many(
            sql.query("document_histories"), entities=encoding.packed(encoding.uuids(documents))
        )
        places: dict[int, list[Fact]] = {}
        for place, seq, kind, at, payload, _ in rows:
            places.setdefault(place, []).append(Fact(seq, kind, at, payload))
        histories = {documents[place - 1]: facts for place, facts in places.items()}
        return histories, rows[0][-1] if rows else None

    def _decide(
        self, job: Job, history: History | None, abilities: AbstractSet[str], now: datetime | None
    ) -> Outcome:
        if now is None or history is None:
            return Done(read=0)
        head = history.length
        needed = needs(history, abilities=abilities, at=now, policy=self._policy)
        numbered = list(enumerate(needed, head))
        events = [NewEvent(need.kind, need.payload(), expected_seq=seq) for seq, need in numbered]
        jobs = [_job(job.entity_id, need, seq, self._delay(need, now)) for seq, need in numbered]
        return Done(events, jobs, head)

    def _delay(self, need: Need, now: datetime) -> float:
        """Return when a job runs: for a network when the period ends, for all digests of it at once."""
        start, period = max(need.run_at, now).timestamp(), self._gather_seconds
        if need.evidence in NETWORKS and period:
            start += period - start % period
        return start - now.timestamp()


def _entries(
    facts: Mapping[UUID, Sequence[Fact]], histories: Mapping[UUID, History]
) -> dict[str, Packed | None]:
    """Return the summaries of the events that were read, as columns."""
    rows = [summary(events, histories.get(document)) for document, events in facts.items()]

    def texts(field: str) -> Value:
        return encoding.array(encoding.TEXT_OID, [encoding.text(row[field]) for row in rows])

    columns = {
        "entities": encoding.uuids(list(facts)),
        "states": texts("state"),
        "pipelines": texts("pipeline"),
        "lifecycles": texts("lifecycle_status"),
        "witnesses": texts("witness_hash"),
        "lengths": encoding.array(encoding.BIGINT_OID, [encoding.bigint(row["length"]) for row in rows]),
        "began": encoding.array(
            encoding.MOMENT_OID, [encoding.timestamp(events[0].at) for events in facts.values()]
        ),
        "failed": encoding.array(encoding.BOOLEAN_OID, [encoding.boolean(row["failed"]) for row in rows]),
    }
    return {name: encoding.packed(column) for name, column in columns.items()}


def _job(document: UUID, need: Need, seq: int, delay: float) -> NewJob:
    """Return the job of an attempt; its key carries the number of the event that opens the attempt."""
    about = {"witness_hash": need.witness, "attempt": need.attempt}
    return NewJob(
        need.job,
        document,
        str(seq),
        about,
        delay=delay,
        on_death=_on_death(need, about),
    )


def _on_death(need: Need, about: Mapping[str, Any]) -> dict[str, Any]:
    reason = "its job could not be done; see `foja jobs list`"
    payload = {**about, "failure_code": "job_died", "reason": reason}
    if need.evidence in (Evidence.TSA, Evidence.ARTIFACT):
        return {"kind": f"{need.evidence}.failed", "v": 1, "payload": payload}
    return {"kind": "anchor.failed", "v": 1, "payload": {**payload, "network": need.evidence.value}}
