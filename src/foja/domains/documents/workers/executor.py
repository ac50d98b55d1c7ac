"""`protect_document_v2`: read histories, check new tokens, decide, append the events that open attempts.

The summaries that lists show are written here, too, and rebuilt by replay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from foja.engine import sql
from foja.engine.driver import encoding
from foja.engine.driver.database import Database
from foja.engine.driver.encoding import Packed, Value
from foja.engine.jobs.outcome import Done, Job, NewEvent, NewJob, Outcome
from foja.engine.ledger.ledger import Ledger
from foja.pure.models.documents.events import NETWORKS, Evidence, Fact
from foja.pure.models.documents.history import History, read
from foja.pure.models.documents.projection import summary
from foja.pure.models.documents.rules import Need, Policy, needs
from foja.pure.models.documents.tokens import refuse
from foja.pure.models.documents.track import Track
from foja.pure.proofs.finding import Finding, Status

TYPE, SOURCE = "protect_document_v2", "protect-document-v2"
PAGE_DOCUMENTS, LOCKED_AT_ONCE = 500, 20
Check: TypeAlias = Callable[[Fact, datetime], Finding]  # of the token of an event, as of a moment


class Reading(NamedTuple):
    """The sealed events of a document, when they were read, and how many of them were seen before."""

    facts: list[Fact]
    now: datetime
    seen: int | None  # None: the document was never looked at


class HistoryRow(NamedTuple):
    """A sealed event of one of several documents, when it was read, and how many the executor saw before."""

    place: int  # of the document in the question, from 1
    seq: int
    kind: str
    at: datetime
    payload: Any
    seen: int | None
    now: datetime


class Refusal(NamedTuple):
    """A timestamp that does not count, and why."""

    track: Track
    finding: Finding

    def event(self, head: int) -> NewEvent:
        """Return the event that takes it back."""
        return NewEvent("tsa.failed", refuse(self.track, self.finding), expected_seq=head)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How many documents there are, in how many the list was wrong, and in how many the guards were."""

    documents: int
    mended: int
    guards: int = 0


class Executor:
    """Decides for many documents at once: one read, one write of summaries, one settlement.

    It believes no program: a timestamp counts once its token passes the check of this installation.
    """

    def __init__(self, database: Database, policy: Policy, check: Check, gather_seconds: float = 0.0) -> None:
        """`gather_seconds` is how long a digest waits for others of its network."""
        self._database, self._policy, self._gather_seconds = database, policy, gather_seconds
        self._check = check

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Return what each document still needs, as events and the jobs that follow from them."""
        found = await self._read([job.entity_id for job in jobs])
        histories = {document: read(each.facts) for document, each in found.items()}
        refused = {
            document: refusal
            for document, each in found.items()
            if (refusal := self._refused(each, histories[document], each.seen or 0))
        }
        if facts := {document: each.facts for document, each in found.items() if document not in refused}:
            await self._database.row(sql.query("write_summaries"), **_entries(facts, histories))
        # Read every time: a network may be enabled or disabled while this process runs.
        abilities = {*await self._database.values(sql.query("abilities"))}
        outcomes = list[Outcome]()
        for job in jobs:
            each, history = found.get(job.entity_id), histories.get(job.entity_id)
            if each is None or history is None:
                outcomes.append(Done(read=0))
            elif refusal := refused.get(job.entity_id):
                outcomes.append(Done([refusal.event(history.length)], [], history.length))
            else:
                outcomes.append(self._decide(job, history, abilities, each.now))
        return outcomes

    async def rebuild_all(self, ledger: Ledger) -> Rebuilt:
        """Rebuild by replay what is stored beside the events of documents; others may write meanwhile."""
        documents, mended, guards, after = 0, 0, 0, None
        while page := [
            each for (each,) in await ledger.ask("document_ids", after=after, limit=PAGE_DOCUMENTS)
        ]:
            documents, after = documents + len(page), page[-1]
            guards += await self._rebuild_guards(page)
            mended += await self.rebuild(page)
        return Rebuilt(documents, mended, guards)

    async def rebuild(self, documents: Sequence[UUID]) -> int:
        """Write the summaries of these documents by replay; return how many were wrong.

        A document with a token that will be refused is left to its executor.
        """
        repaired, left = 0, list(documents)
        while left:
            found = await self._read(left)
            facts = {
                document: each.facts
                for document, each in found.items()
                if each.seen is None or not self._refused(each, read(each.facts), each.seen)
            }
            if not facts:
                break
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

    async def _read(self, documents: Sequence[UUID]) -> dict[UUID, Reading]:
        ids = encoding.packed(encoding.uuids(documents))
        found: dict[UUID, Reading] = {}
        for row in await self._database.many(sql.query("document_histories"), HistoryRow, entities=ids):
            reading = found.setdefault(documents[row.place - 1], Reading([], row.now, row.seen))
            reading.facts.append(Fact(row.seq, row.kind, row.at, row.payload))
        return found

    def _refused(self, found: Reading, history: History, seen: int) -> Refusal | None:
        """Return the first timestamp that was not seen before and does not pass, if there is one.

        With a final artifact the judge has passed it.
        """
        for track in () if history.finalized else history.tracks.values():
            if track.evidence is Evidence.TSA and track.confirmed and track.confirmed.seq >= seen:
                finding = self._check(found.facts[track.confirmed.seq], found.now)
                if finding.status is not Status.VERIFIED:
                    return Refusal(track, finding)
        return None

    def _decide(self, job: Job, history: History, abilities: AbstractSet[str], now: datetime) -> Outcome:
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
