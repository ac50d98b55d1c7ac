"""`protect_document_v2`: read histories, decide, append the events that open attempts. Nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any
from uuid import UUID

from foja import sql
from foja.documents.model.events import DOCUMENT, Evidence
from foja.documents.model.history import Fact, History, read
from foja.documents.model.projection import summary
from foja.documents.model.rules import Need, Policy, needs
from foja.driver import encoding
from foja.driver.database import Database
from foja.driver.encoding import Packed
from foja.jobs.outcome import Done, Job, NewJob, Outcome
from foja.ledger.event import Draft, draft

TYPE, SOURCE = "protect_document_v2", "protect-document-v2"


class Executor:
    """Decides for many documents at once: one read, one write of summaries, one settlement."""

    def __init__(self, database: Database, abilities: AbstractSet[str], policy: Policy) -> None:
        self._database, self._abilities, self._policy = database, abilities, policy

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Return what each document still needs, as events and the jobs that follow from them."""
        facts, now = await self._read([job.entity_id for job in jobs])
        histories = {document: read(events) for document, events in facts.items()}
        if facts:
            await self._database.row(sql.query("write_summaries"), **_entries(facts, histories))
        return [self._decide(job, histories.get(job.entity_id), now) for job in jobs]

    async def rebuild(self, documents: Sequence[UUID]) -> int:
        """Write the summaries of these documents by replay; return how many were wrong."""
        repaired, left = 0, list(documents)
        while left and (facts := (await self._read(left))[0]):
            rows = await self._database.rows(sql.query("rebuild_summaries"), **_entries(facts, {}))
            repaired += sum(changed for _, changed in rows)
            left = sorted(facts.keys() - {document for document, _ in rows})  # these grew meanwhile
        return repaired

    async def _read(self, documents: Sequence[UUID]) -> tuple[dict[UUID, list[Fact]], datetime | None]:
        rows = await self._database.many(
            sql.query("document_histories"), entities=encoding.packed(encoding.uuids(documents))
        )
        places: dict[int, list[Fact]] = {}
        for place, seq, kind, at, payload, _ in rows:
            places.setdefault(place, []).append(Fact(seq, kind, at, payload))
        histories = {documents[place - 1]: facts for place, facts in places.items()}
        return histories, rows[0][-1] if rows else None

    def _decide(self, job: Job, history: History | None, now: datetime | None) -> Outcome:
        if now is None or history is None:
            return Done(read=0)
        head = history.length
        needed = needs(history, abilities=self._abilities, at=now, policy=self._policy)
        drafts = [_draft(job, need, head + place) for place, need in enumerate(needed)]
        jobs = [_job(job.entity_id, need, head + place, now) for place, need in enumerate(needed)]
        return Done(drafts, jobs, head)


def _entries(
    facts: Mapping[UUID, Sequence[Fact]], histories: Mapping[UUID, History]
) -> dict[str, Packed | None]:
    """Return the summaries of the events that were read, as columns."""
    rows = [summary(events, histories.get(document)) for document, events in facts.items()]
    columns = {
        "entities": encoding.uuids(list(facts)),
        "states": encoding.array(encoding.TEXT_OID, [encoding.name(row["state"]) for row in rows]),
        "pipelines": encoding.array(encoding.TEXT_OID, [encoding.name(row["pipeline"]) for row in rows]),
        "lifecycles": encoding.array(
            encoding.TEXT_OID, [encoding.name(row["lifecycle_status"]) for row in rows]
        ),
        "witnesses": encoding.array(encoding.TEXT_OID, [encoding.text(row["witness_hash"]) for row in rows]),
        "lengths": encoding.array(encoding.BIGINT_OID, [encoding.bigint(row["length"]) for row in rows]),
        "began": encoding.array(
            encoding.MOMENT_OID, [encoding.timestamp(events[0].at) for events in facts.values()]
        ),
    }
    return {name: encoding.packed(column) for name, column in columns.items()}


def _draft(job: Job, need: Need, seq: int) -> Draft:
    return draft(
        DOCUMENT,
        job.entity_id,
        need.kind,
        need.payload(),
        tenant=job.tenant,
        source=SOURCE,
        expected_seq=seq,
    )


def _job(document: UUID, need: Need, seq: int, now: datetime) -> NewJob:
    """Return the job of an attempt; its key carries the number of the event that opens the attempt."""
    about = {"witness_hash": need.witness, "attempt": need.attempt}
    return NewJob(
        need.job,
        document,
        str(seq),
        about,
        delay=max(0.0, (need.run_at - now).total_seconds()),
        on_death=_on_death(need, about),
    )


def _on_death(need: Need, about: Mapping[str, Any]) -> dict[str, Any]:
    payload = {
        **about,
        "failure_code": "job_died",
        "reason": "its job could not be done; see `foja jobs list`",
    }
    if need.evidence in (Evidence.TSA, Evidence.ARTIFACT):
        return {"kind": f"{need.evidence}.failed", "v": 1, "payload": payload}
    return {"kind": "anchor.failed", "v": 1, "payload": {**payload, "network": need.evidence.value}}
