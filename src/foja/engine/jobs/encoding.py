"""Jobs and outcomes as the database takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from foja.engine.driver import encoding
from foja.engine.driver.encoding import Value
from foja.engine.jobs.outcome import Done, GiveUp, Job, NewJob, Outcome, Retry, Snooze
from foja.engine.ledger.event import Draft, bounded
from foja.engine.ledger.receipts import draft_array

Settled = Sequence[tuple[Job, Outcome]]
OUTCOME_NAMES = {Done: "done", Retry: "retry", GiveUp: "give_up", Snooze: "snooze"}
_NEW_JOB, _SETTLEMENT = encoding.record_head(9), encoding.record_head(6)
_NO_ID = encoding.field(encoding.UUID_OID, None)


class TypeNumbers(NamedTuple):
    """The numbers of our composite types in one database."""

    draft: int
    new_job: int
    settlement: int


def job_array(jobs: Sequence[tuple[NewJob, str]], types: TypeNumbers) -> Value:
    """Return new jobs, each with its tenant, as an array of `foja.new_job`."""
    return encoding.array(types.new_job, [_job(job, tenant) for job, tenant in jobs])


def settle_values(settled: Settled, types: TypeNumbers, *, careful: bool) -> list[Value]:
    """Return a batch of outcomes as the values of `settle_jobs_v1`."""
    drafts = [(at, draft) for at, (_, end) in enumerate(settled, 1) for draft in drafts_of(end)]
    jobs = [(at, new, job.tenant) for at, (job, end) in enumerate(settled, 1) for new in jobs_of(end)]
    return [
        encoding.array(types.settlement, [_settlement(job, outcome) for job, outcome in settled]),
        encoding.array(encoding.INTEGER_OID, [encoding.integer(at) for at, _ in drafts]),
        draft_array([draft for _, draft in drafts], types.draft),
        encoding.array(encoding.INTEGER_OID, [encoding.integer(at) for at, _, _ in jobs]),
        job_array([(new, tenant) for _, new, tenant in jobs], types),
        encoding.boolean(careful),
    ]


def _job(job: NewJob, tenant: str) -> bytes:
    return b"".join(
        (
            _NEW_JOB,
            encoding.named(job.type),
            encoding.field(encoding.UUID_OID, job.entity_id.bytes),
            encoding.named(tenant),
            encoding.field(encoding.TEXT_OID, encoding.text(job.key)),
            encoding.field(encoding.TEXT_OID, _json(job.payload)),
            encoding.field(encoding.DOUBLE_OID, _double(job.delay)),
            encoding.numbered(job.priority),
            encoding.field(encoding.TEXT_OID, _json(job.on_death)),
            _NO_ID,
        )
    )


def _settlement(job: Job, outcome: Outcome) -> bytes:
    return b"".join(
        (
            _SETTLEMENT,
            encoding.field(encoding.BIGINT_OID, encoding.bigint(job.id)),
            encoding.field(encoding.UUID_OID, job.token.bytes),
            encoding.named(OUTCOME_NAMES[type(outcome)]),
            encoding.field(encoding.TEXT_OID, encoding.text(_error(outcome))),
            encoding.field(encoding.DOUBLE_OID, _double(_delay(outcome))),
            encoding.field(encoding.BIGINT_OID, encoding.bigint(getattr(outcome, "read", None))),
        )
    )


def drafts_of(outcome: Outcome) -> Sequence[Draft]:
    """Return the events that an outcome records."""
    return outcome.events if isinstance(outcome, Done | GiveUp) else ()


def jobs_of(outcome: Outcome) -> Sequence[NewJob]:
    """Return the jobs that follow from an outcome."""
    return outcome.jobs if isinstance(outcome, Done) else ()


def _error(outcome: Outcome) -> str | None:
    # PostgreSQL has no U+0000; an error message may.
    error = outcome.error if isinstance(outcome, Retry | GiveUp | Snooze) else None
    return None if error is None else error.replace("\0", "�")


def _delay(outcome: Outcome) -> float | None:
    if isinstance(outcome, Snooze):
        return outcome.seconds
    return outcome.after if isinstance(outcome, Retry) else None


def _double(value: float | None) -> Value:
    return None if value is None else encoding.double(value)


def _json(value: Mapping[str, Any] | None) -> Value:
    return None if value is None else bounded(value)
